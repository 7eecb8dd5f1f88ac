// A program needs one import only: the types of the RPC contract come with the client.

@_exported public import JSONRPC
@_exported public import UsherAPI
@_exported public import UsherCore
