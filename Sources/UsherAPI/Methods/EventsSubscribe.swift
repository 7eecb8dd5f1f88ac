/// Be told of what happens, by `events.notify`, until unsubscribed or overrun.
public struct EventsSubscribe: Method, Equatable {
  public static let name = "events.subscribe"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary =
    "Be told of what happens, by `events.notify`, until unsubscribed or overrun."

  public var topics: [EventTopic]
  /// A cursor, which is opaque and the caller's own: what came after it comes first. One that is no longer remembered, or of before the
  /// daemon's start, ends the subscription at once by `events.lost`.
  public var since: Int?

  public init(topics: [EventTopic], since: Int? = nil) {
    self.topics = topics
    self.since = since
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var subscription: String
    public var cursor: Int

    public init(subscription: String, cursor: Int) {
      self.subscription = subscription
      self.cursor = cursor
    }
  }
}
