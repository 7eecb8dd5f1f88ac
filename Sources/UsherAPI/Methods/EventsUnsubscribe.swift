import JSONRPC

/// Ends a subscription of this connection.
public struct EventsUnsubscribe: Method, Equatable {
  public static let name = "events.unsubscribe"
  public static let traits = MethodTraits(access: .app)
  public static let subject = Subject<Self>.method
  public static let summary = "Ends a subscription of this connection."

  /// The id of the subscription.
  public var subscription: String

  public init(subscription: String) { self.subscription = subscription }

  public static let example = MethodExample(["subscription": "sub_1"], returns: [:])
}
