"""The judge worker: answers the questions that checks have for judge models. Its own process, with the extra ``judges``."""
