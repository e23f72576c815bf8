"""What a judge worker is made of, from its file."""

import logging
from dataclasses import dataclass
from pathlib import Path

import stamina

from .cache import Cache
from .calibration import calibrations_of
from .judge import Judge, Provider
from .ledger import Ledger
from .limits import Gate
from .metrics import JudgeMetrics
from .minilm import AbsentError, load
from .prescreen import Prescreen
from .probes import Probes
from .settings import JudgesError, JudgesFile, client_of

log = logging.getLogger("stream_graders.judges")


@dataclass
class Made:
    """A judge with its files and clients."""

    judge: Judge
    metrics: JudgeMetrics
    ledger: Ledger
    cache: Cache
    providers: dict[str, Provider]
    probes: Probes
    prescreen: Prescreen | None

    async def close_clients(self) -> None:
        """Give back the clients' connections."""
        for provider in self.providers.values():
            await provider.client.close()
        await self.probes.close()

    def close(self) -> None:
        """Close the files, and look at nothing more."""
        if self.prescreen is not None:
            self.prescreen.close()
        self.ledger.close()
        self.cache.close()


def made(file: JudgesFile, *, remembers: bool = True) -> Made:
    """The judge of a file; if it ``remembers`` nothing, it neither reads nor touches the answers of before.

    Raises:
        JudgesError: a key is not set, a calibration cannot be read, or a client's library or the pre-screen's model is not
            installed.
        OSError: the folder cannot be made.
    """
    try:
        scorer = load() if file.prescreen == "minilm" else None
    except AbsentError as error:
        raise JudgesError(f"prescreen: {error}") from error
    folder = None if file.folder is None else Path(file.folder).expanduser()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    stamina.instrumentation.set_on_retry_hooks([])  # It would log each retry with whatever it was handed.
    metrics = JudgeMetrics()
    metrics.begin(file.models)
    ledger = Ledger(":memory:" if folder is None else folder / "ledger.sqlite", file.share)
    cached = Cache(":memory:", 0)
    if remembers:
        cached = Cache(":memory:" if folder is None else folder / "answers.sqlite", file.cache_days)
        cached.forget_old()
    calibrations = calibrations_of(file)
    providers = {
        name: Provider(
            name,
            model,
            client_of(model, name),
            Gate(model.at_once, model.requests_per_minute, model.tokens_per_minute),
            [each for each in calibrations[name] if not each.changed(model)],
        )
        for name, model in file.models.items()
    }
    for name, model in file.models.items():
        for each in calibrations[name]:
            if changed := each.changed(model):
                log.warning("judge %s: %s is void, for %s changed", name, each.path, " and ".join(changed))
    probes = Probes(file.probes, metrics.looks)
    prescreen = None if scorer is None else Prescreen(scorer)
    judge = Judge(file, providers, ledger, cached, metrics, probes, prescreen=prescreen)
    return Made(judge, metrics, ledger, cached, providers, probes, prescreen)
