/// Subscribes to events.
///
/// The daemon sends each event as a notification `events.notify`, until the connection unsubscribes
/// or the queue of unsent events overflows.
public struct EventsSubscribe: Method, Equatable {
  public static let name = "events.subscribe"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary =
    "Subscribe to events, sent as `events.notify` until unsubscribed or overrun."

  public var topics: [EventTopic]
  /// The opaque cursor of an earlier event of the same caller. The events after it are sent first.
  /// If they are no longer remembered, or the cursor is from before the daemon's start,
  /// `events.lost` ends the subscription at once.
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
