// One import is enough for a program: the contract's types come with the client.

@_exported public import JSONRPC
@_exported public import UsherAPI
@_exported public import UsherCore
