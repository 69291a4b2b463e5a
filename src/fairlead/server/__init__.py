"""The approval service: an agent asks and waits, a person answers.

protocol.py   what agents call            sqlite_store.py   everything that must survive
inbox.py      what people's pages call    waiting.py        who waits for which answer
security.py   who may do what             app.py            all of it as one ASGI application
"""

PORT = 8737
"""Where the service listens if nobody says otherwise."""
