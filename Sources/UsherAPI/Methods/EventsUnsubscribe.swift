/// Ends a subscription of this connection.
public struct EventsUnsubscribe: Method, Equatable {
  public static let name = "events.unsubscribe"
  public static let traits = MethodTraits(access: .app)
  public static let summary = "End a subscription of this connection."
  public typealias Reply = Done

  public var subscription: String

  public init(subscription: String) {
    self.subscription = subscription
  }
}
