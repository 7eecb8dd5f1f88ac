import JSONRPC

/// Subscribes to events.
///
/// The daemon sends each event as a notification `events.notify`, until the connection unsubscribes
/// or the queue of unsent events overflows.
public struct EventsSubscribe: Method, Equatable {
  public static let name = "events.subscribe"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Subscribes to events, which the daemon then sends as notifications `events.notify`."
  public static let discussion = """
    The subscription ends when the connection closes or unsubscribes, or with one `events.lost` \
    when the queue of unsent events overflows (`limits.event_queue`, by default 256).
    """

  /// The topics of the events.
  public var topics: [EventTopic]
  /// The opaque cursor of an earlier event of the same caller. The events after it are sent first.
  /// If the daemon no longer has them, or the cursor is from before the daemon's start,
  /// `events.lost` ends the subscription at once.
  public var since: Int?

  public init(topics: [EventTopic], since: Int? = nil) {
    self.topics = topics
    self.since = since
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The id of the subscription, which each of its notifications names.
    public var subscription: String
    /// The cursor of the newest event at the time of the subscription.
    public var cursor: Int

    public init(subscription: String, cursor: Int) {
      self.subscription = subscription
      self.cursor = cursor
    }
  }

  public static let example = MethodExample(
    ["topics": ["flow", "account"]], returns: ["subscription": "sub_1", "cursor": 41])
}
