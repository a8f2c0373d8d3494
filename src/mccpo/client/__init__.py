"""A client of the decision service: typed answers, and requests that are sent again until they are answered once.

It needs the extra `client` (`pip install 'mccpo[client]'`).

```python
from mccpo.client import Client

with Client("https://tutor.example", key) as tutor:
    ana = tutor.register("Ana", {"class": "3b"})
    decision = tutor.next(ana.id)
    tutor.outcome(decision.id, correct=True, seconds=12.5)
```

`AsyncClient` is the same with `async with` and `await`.
"""

from mccpo.client.answers import Anchor, Concept, Decision, Learner, Outcome, Registered, Session, State
from mccpo.client.calls import RefusedError, Retries, UnansweredError
from mccpo.client.clients import AsyncClient, Client

__all__ = [
    "Anchor",
    "AsyncClient",
    "Client",
    "Concept",
    "Decision",
    "Learner",
    "Outcome",
    "RefusedError",
    "Registered",
    "Retries",
    "Session",
    "State",
    "UnansweredError",
]
