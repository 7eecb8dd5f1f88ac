import UsherAPI

typealias EventContinuation = AsyncThrowingStream<EventNotification, any Error>.Continuation

/// The event streams that one connection feeds.
struct Subscriptions {
  struct Stream {
    let feed: EventContinuation
    /// The cursor of the last delivered event; before the first event, the cursor that the
    /// subscription began with.
    var cursor: Int

    func ending(_ cause: EventsEnded.Cause) -> EventsEnded { EventsEnded(cause, cursor: cursor) }
  }

  private var streams: [String: Stream] = [:]

  mutating func add(_ name: String, cursor: Int, _ feed: EventContinuation) {
    streams[name] = Stream(feed: feed, cursor: cursor)
  }

  func stream(_ name: String) -> Stream? { streams[name] }

  mutating func advance(_ name: String, to cursor: Int) { streams[name]?.cursor = cursor }

  /// Removes a subscription.
  ///
  /// - Returns: The stream of the subscription; nil if there was none of that name.
  mutating func remove(_ name: String) -> Stream? { streams.removeValue(forKey: name) }

  mutating func end() -> [Stream] {
    defer { streams = [:] }
    return Array(streams.values)
  }
}
