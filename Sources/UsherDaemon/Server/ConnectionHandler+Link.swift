import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherTransport

// The operations that method handlers may perform on their connection.
extension ConnectionHandler: ConnectionLink {
  /// Cancels a call. The call is answered now, under its id in the form in which the call contained
  /// it; its later result is dropped.
  func cancel(_ id: RequestID) {
    guard let index = index(ofCall: id) else { return }
    let (id, inFlightCall) = inFlight.remove(at: index)
    inFlightCall.task.cancel()
    let error = UsherError(.cancelled, "the call was cancelled")
    send(service.errorReply(error, id, caller.label), inFlightCall.origin)
  }

  /// Returns the index of the call in flight with exactly this id. If there is none, returns the
  /// oldest call whose id is the same number in another form, or nil.
  private func index(ofCall id: RequestID) -> Dictionary<RequestID, InFlightCall>.Index? {
    if let index = inFlight.index(forKey: id) { return index }
    return inFlight.indices.filter { inFlight[$0].key.hasValue(of: id) }
      .min { inFlight[$0].value.number < inFlight[$1].value.number }
  }

  func subscribe(_ call: EventsSubscribe) throws(UsherError) -> EventsSubscribe.Reply {
    guard transport.isOpen else {
      throw UsherError(.shuttingDown, "usherd is closing this connection: subscribe on a new one")
    }
    guard feed.count < Subscription.maxPerConnection else {
      throw UsherError(
        .overloaded, "this connection already has \(Subscription.maxPerConnection) subscriptions",
        limit: "subscriptions")
    }
    let userLimit = service.limits.subscriptionsPerUser
    guard scheduler.addSubscription(party, atMost: userLimit) else {
      throw UsherError(
        .overloaded, "this user already has \(userLimit) subscriptions",
        limit: "subscriptions_per_user")
    }
    let name = "sub_\(newNumber())"
    let limit = limits.eventQueue
    var cursor = 0
    let needsWakeUp = feed.add(name, limit: limit) {
      let begun = listen(call, name, limit: limit)
      cursor = begun.cursor
      var subscription = Subscription(
        listener: begun.listener, cursor: begun.hasGap ? begun.cursor : call.since ?? begun.cursor)
      // Events that are no longer kept cannot be sent: the client is told to fetch the current
      // state and to subscribe again.
      if begun.hasGap { subscription.markLost() }
      return (subscription, begun.past)
    }
    // The event is delivered after the reply to the subscription.
    if needsWakeUp { wake() }
    return .init(subscription: name, cursor: cursor)
  }

  private func listen(_ call: EventsSubscribe, _ name: String, limit: Int)
    -> EventBus.SubscriptionStart
  {
    let (topics, callerCache, service) = (Set(call.topics), callerCache, service)
    let (caller, generation) = callerCache.current
    let (loop, feed, handler) = (transport.loop, feed, OnLoop(self, transport.loop))
    let listener = { @Sendable (entry: EventBus.Entry) in
      guard topics.contains(entry.event.topic) else { return }
      let (caller, current) = callerCache.current
      guard caller.isRecipient(of: entry) else { return }
      // New policy rules may forbid the subscription, or the uid may belong to another person now.
      // Either ends the subscription.
      let isAllowed =
        (current == generation || service.mayListen(caller)) && !service.isWithheld(caller)
      guard feed.push(isAllowed ? entry : nil, to: name, limit: limit) else { return }
      loop.execute { handler.value.deliver() }
    }
    // An event beyond the queue's limit ends the subscription, and the client is notified.
    return service.events.listen(
      since: call.since, audience: { caller.belongs(to: $0) },
      receiving: { caller.isRecipient(of: $0) }, atMost: limit + 1,
      where: { topics.contains($0.event.topic) }, listener)
  }

  private func wake() {
    let handler = OnLoop(self, transport.loop)
    transport.loop.execute { handler.value.deliver() }
  }

  private func deliver() { scheduler.deliver(self) }

  func unsubscribe(_ name: String) throws(UsherError) {
    guard let listener = feed.remove(name) else {
      throw UsherError(.notFound, "the subscription does not exist on this connection")
    }
    ended(listener)
  }

  private func ended(_ listener: Int) {
    service.events.stop(listener)
    scheduler.removeSubscription(party)
  }

  func endSubscriptions() {
    for listener in feed.removeAll() { ended(listener) }
  }

  /// Sends events until the time slice is over, at least one.
  ///
  /// - Returns: Whether events are left and the transport has room for them.
  func sendEvents(within slice: inout TimeSlice) -> Bool {
    defer { flush() }
    repeat {
      guard transport.hasRoom, !isClosing, let notice = feed.next() else { return false }
      write(notice.line)
      slice.spendCall()
      guard let listener = notice.ended else { continue }
      ended(listener)
      closeWhenDone()
    } while !slice.isOver
    return true
  }
}

extension Caller {
  fileprivate func isRecipient(of entry: EventBus.Entry) -> Bool {
    (entry.owner == nil || entry.owner == owner || isAdmin) && mayReceive(entry)
  }
}
