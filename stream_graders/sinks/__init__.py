"""What leaves Kafka for people: violations as alerts and messages."""
