import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// What handlers may do to their connection.
extension ConnectionHandler: ConnectionLink {
  /// The call gets its one reply now, under the id as it wrote it; what becomes of it is dropped.
  func cancel(_ id: RequestID) {
    guard let place = place(ofCall: id) else { return }
    let (id, flight) = inFlight.remove(at: place)
    flight.task.cancel()
    let error = UsherError(.cancelled, "the call was cancelled")
    send(service.errorReply(error, id, caller), flight.origin)
  }

  /// Returns the index of the call in flight with this id, compared as written. Without one it returns
  /// the oldest call whose id is the same number, or nil.
  private func place(ofCall id: RequestID) -> Dictionary<RequestID, Flight>.Index? {
    if let place = inFlight.index(forKey: id) { return place }
    return inFlight.indices.filter { inFlight[$0].key.hasValue(of: id) }
      .min { inFlight[$0].value.number < inFlight[$1].value.number }
  }

  func subscribe(_ call: EventsSubscribe) throws(UsherError) -> EventsSubscribe.Reply {
    guard transport.isOpen else { throw UsherError(.shuttingDown, "the connection is closing") }
    guard subscriptions.count < Subscription.most else {
      throw UsherError(
        .overloaded, "this connection has \(Subscription.most) subscriptions",
        detail: .init(limit: "subscriptions"))
    }
    let name = "sub_\(newNumber())"
    let loop = transport.loop
    let handler = OnLoop(self, loop)
    let (topics, standing, service) = (Set(call.topics), standing, service)
    let generation = standing.current.generation
    let caller = standing.current.caller
    let belongs = { (audience: EventBus.Audience) in caller.belongs(to: audience) }
    let hears = { (entry: EventBus.Entry) in caller.hears(entry) }
    let (listener, cursor, hasGap) = service.events.listen(
      since: call.since, seeing: belongs, hearing: hears
    ) { entry in
      guard topics.contains(entry.event.topic) else { return }
      let (caller, current) = standing.current
      guard entry.owner == nil || entry.owner == caller.owner || caller.isAdmin,
        caller.hears(entry)
      else { return }
      let isHeard = current == generation || service.mayListen(caller)
      loop.execute { handler.value.deliver(isHeard ? entry : nil, to: name) }
    }
    var subscription = Subscription(
      listener: listener, cursor: hasGap ? cursor : call.since ?? cursor)
    if hasGap {
      // What is gone cannot be told: the client looks for itself, and subscribes anew.
      subscription.lose()
      loop.execute { handler.value.tell(name) }
    }
    subscriptions[name] = subscription
    return .init(subscription: name, cursor: cursor)
  }

  func unsubscribe(_ name: String) throws(UsherError) {
    guard let subscription = subscriptions.removeValue(forKey: name) else {
      throw UsherError(.notFound, "this connection has no such subscription")
    }
    service.events.stop(subscription.listener)
  }

  /// - Parameter entry: Nil ends the subscription: other rules do not let the caller have it.
  private func deliver(_ entry: EventBus.Entry?, to name: String) {
    guard subscriptions[name] != nil else { return }
    if let entry {
      subscriptions[name]?.push(entry, limit: limits.eventQueue)
    } else {
      subscriptions[name]?.lose()
    }
    tell(name)
  }

  private func tell(_ name: String) {
    drain(name)
    flush()
  }

  func drain(_ name: String) {
    while transport.hasRoom, let message = subscriptions[name]?.next(name) {
      write(message.line)
      guard message.isLast, let ended = subscriptions.removeValue(forKey: name) else { continue }
      service.events.stop(ended.listener)
      closeWhenDone()
    }
  }
}
