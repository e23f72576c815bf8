"""The worker on Kafka: the only part of the package that knows Faust."""
