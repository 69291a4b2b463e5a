"""The approval service: an agent asks and waits, a person answers.

protocol.py   what agents call            desk.py             who waits for which answer
inbox.py      what people's pages call    sql_store.py        everything that must survive, in either of:
security.py   who may do what             sqlite_store.py     one file, one writer
app.py        all of it as one ASGI app   postgres_store.py   several replicas
serving.py    the server as a process     writer.py           one thread; what came at once is committed at once
                                          transactions.py     each call of such a group fails by itself
"""

PORT = 8737
"""Where the service listens if nobody says otherwise."""
