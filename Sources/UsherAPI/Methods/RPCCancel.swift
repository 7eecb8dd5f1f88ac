public import JSONRPC

/// Cancels a call in flight on this connection. The call still gets exactly one reply.
public struct RPCCancel: Method, Equatable {
  public static let name = "rpc.cancel"
  public static let traits = MethodTraits(access: .app, audience: .everybody, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Cancels a call in flight on this connection. The call still gets exactly one reply."
  public static let discussion = """
    The reply of the cancelled call is its result if that was ready, otherwise the error \
    `cancelled`. Usually sent as a notification.
    """

  /// The JSON-RPC id of the call, as the client sent it.
  public var id: CallID

  public init(id: CallID) { self.id = id }

  /// The id of a JSON-RPC call.
  public struct CallID: Codable, Sendable, Equatable {
    /// A string or a number.
    public var value: JSONValue

    public init(_ value: JSONValue) { self.value = value }

    public init(from decoder: any Decoder) throws { value = try JSONValue(from: decoder) }

    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  public static let example = MethodExample(["id": 7], returns: [:])
}

extension RPCCancel.CallID: SchemaDescribing {
  public static var schema: Schema { .either([.text, .number]) }
  public static var example: Self { Self(0) }
}
