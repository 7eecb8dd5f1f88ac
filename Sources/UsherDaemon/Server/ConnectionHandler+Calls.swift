import JSONRPC
import UsherConfig
import UsherCore
import UsherTransport

// Running of calls.
extension ConnectionHandler {
  /// Runs an RPC call and writes its reply.
  ///
  /// - Parameter decoded: The call with decoded parameters; nil if the parameters must still be
  ///   decoded.
  func run(
    _ envelope: Envelope, _ line: UnsafeRawBufferPointer, _ origin: Origin,
    _ decoded: DecodedCall? = nil
  ) {
    applyCurrentRules()
    if answerFromCache(envelope, line, origin) { return }
    let id = envelope.id(in: line)
    if refuseIfInUse(id, origin) { return }
    let epoch = epoch
    do throws(UsherError) {
      let response = try respond(to: envelope, line, decoded)
      if case .cacheable(let reply) = response, let epoch,
        let method = cachedMethod(of: envelope, line),
        let params = envelope.paramsBytes(in: line)
      {
        replyCache.insert(reply, to: method, params, in: epoch)
        scheduler.scheduleSweep()
      }
      try finish(response, id, origin)
    } catch {
      fail(id, error, origin)
    }
  }

  private func respond(
    to envelope: Envelope, _ line: UnsafeRawBufferPointer, _ decoded: DecodedCall?
  ) throws(UsherError) -> Response {
    let params = try decoded?.params.get()
    let (method, call) = (envelope.method(in: line), Call(caller: caller, connection: self))
    guard let params else {
      return try service.respond(to: method, params: envelope.paramsBytes(in: line), call)
    }
    return try service.respond(to: method, decoded: params, call)
  }

  /// Updates ``caller`` if the policy rules have changed.
  func applyCurrentRules() {
    if let other = callerCache.caller(otherThanAt: &generation) { caller = other }
  }

  /// Refuses a call if its id is in use by a call that still waits. The error has no id, because
  /// two replies with the same id would be ambiguous.
  func refuseIfInUse(_ id: RequestID?, _ origin: Origin) -> Bool {
    guard let id, inFlight[id] != nil else { return false }
    let error = UsherError(.invalidRequest, "id \(id) is still in use on this connection")
    send(service.errorReply(error, .null, caller.label), origin)
    return true
  }

  func finish(_ response: Response, _ id: RequestID?, _ origin: Origin) throws(UsherError) {
    switch response {
    case .now(let result): succeed(id, result, origin)
    case .cacheable(let reply): succeed(id, reply.reply, origin)
    case .later(let body): try start(id, origin, body)
    case .cold(let read):
      wait(for: ColdCall(number: newNumber(), id: id, origin: origin, read: read))
    case .resumed: try finish(try resumed(response), id, origin)
    }
  }

  /// Runs a call whose data has been loaded, under the policy rules that apply now.
  func resumed(_ response: Response) throws(UsherError) -> Response {
    guard case .resumed(let body) = response else { return response }
    applyCurrentRules()
    return try body(Call(caller: caller, connection: self))
  }

  /// Returns the method of a call if its replies are cached.
  private func cachedMethod(
    of envelope: Envelope, _ line: UnsafeRawBufferPointer
  ) -> ReplyCache.CachedMethod? {
    if envelope.calls(ReplyCache.CachedMethod.tokenGet.name, in: line) { return .tokenGet }
    if envelope.calls(ReplyCache.CachedMethod.tokenForTarget.name, in: line) {
      return .tokenForTarget
    }
    return nil
  }

  /// Answers a line from the reply cache if an equal line was answered before and nothing has
  /// changed since.
  ///
  /// - Returns: False if the line must be parsed.
  func answerFromCache(_ line: UnsafeRawBufferPointer) -> Bool {
    guard !replyCache.isEmpty, inFlight.isEmpty else { return false }
    if let other = callerCache.caller(otherThanAt: &generation) { caller = other }
    guard let epoch,
      let (result, id) = replyCache.reply(toLine: line, in: epoch, at: currentTime())
    else { return false }
    write(result, id: id)
    return true
  }

  /// Answers a parsed call from the reply cache.
  ///
  /// - Returns: False if the policy must decide about the call.
  private func answerFromCache(
    _ envelope: Envelope, _ line: UnsafeRawBufferPointer, _ origin: Origin
  ) -> Bool {
    guard !replyCache.isEmpty, let method = cachedMethod(of: envelope, line),
      let id = envelope.idBytes(in: line), let params = envelope.paramsBytes(in: line),
      inFlight.isEmpty || envelope.id(in: line).map({ inFlight[$0] == nil }) ?? true,
      let epoch,
      let result = replyCache.reply(
        to: method, params, by: shape(envelope, line, origin), in: epoch, at: currentTime())
    else { return false }
    switch origin {
    case .line: write(result, id: id)
    case .batch:
      var reply: [UInt8] = []
      result.withUnsafeBytes { reply.appendResult($0, id: id) }
      send(reply, origin)
    }
    return true
  }

  /// Returns the shape of a line with one call, by which the cache recognizes it; nil for a batch.
  private func shape(
    _ envelope: Envelope, _ line: UnsafeRawBufferPointer, _ origin: Origin
  ) -> LineShape? {
    switch origin {
    case .line: envelope.idRange.flatMap { LineShape(of: line, id: $0) }
    case .batch: nil
    }
  }

  /// Returns the current time, read only once for all input that is answered in one go.
  private func currentTime() -> Timestamp {
    let now = inputTime ?? service.now
    inputTime = now
    return now
  }

  /// The generations of the configuration and of the lock, on which cached replies depend; nil if
  /// calls are refused because the daemon stops.
  private var epoch: ReplyCache.Epoch? {
    service.generation.map { .init(settings: generation, lock: $0) }
  }

  private func start(
    _ id: RequestID?, _ origin: Origin,
    _ body: @escaping @Sendable () async throws(UsherError) -> [UInt8]
  ) throws(UsherError) {
    guard callsInFlight < limits.callsInFlight else {
      throw UsherError(
        .overloaded, "this connection already has \(limits.callsInFlight) calls in flight",
        limit: "calls_in_flight")
    }
    guard scheduler.beginCall(party) else {
      throw UsherError(
        .overloaded, "this user already has \(service.limits.callsInFlightPerUser) calls in flight",
        limit: "calls_in_flight_per_user")
    }
    callsInFlight += 1
    let number = newNumber()
    let loop = transport.loop
    let handler = OnLoop(self, loop)
    let task = Task(executorPreference: service.executor) {
      let outcome = await Result(awaiting: body)
      loop.execute { handler.value.endCall(id, number, outcome) }
    }
    if let id {
      inFlight[id] = InFlightCall(number: number, origin: origin, task: task)
    } else {
      notificationTasks[number] = task
    }
  }

  private func endCall(_ id: RequestID?, _ number: Int, _ outcome: Result<[UInt8], UsherError>) {
    callsInFlight -= 1
    scheduler.endCall(party)
    notificationTasks[number] = nil
    defer {
      if dropsUnread { dropUnread() }
      closeWhenDone()
    }
    guard let id, let inFlightCall = inFlight[id], inFlightCall.number == number else {
      if id == nil, case .failure(let error) = outcome { service.log(error, caller.label) }
      return
    }
    inFlight[id] = nil
    do throws(UsherError) {
      let result = try outcome.get()
      try checkRoom(for: result)
      succeed(id, result, inFlightCall.origin)
    } catch {
      fail(id, error, inFlightCall.origin)
    }
    flush()
  }

  private func succeed(_ id: RequestID?, _ result: [UInt8], _ origin: Origin) {
    guard let id else { return }
    var reply: [UInt8] = []
    reply.appendResult(result, id: id)
    send(reply, origin)
  }

  func fail(_ id: RequestID?, _ error: UsherError, _ origin: Origin) {
    if let id {
      send(service.errorReply(error, id, caller.label), origin)
    } else {
      service.log(error, caller.label)
    }
  }

  func refuse(_ id: RequestID, _ error: UsherError) {
    send(service.errorReply(error, id, caller.label), .line)
  }

  func newNumber() -> Int {
    nextNumber += 1
    return nextNumber
  }
}

extension UsherError {
  init(_ refusal: JSONRPC.Refusal) {
    self.init(
      refusal.code == Reason.parseError.code ? .parseError : .invalidRequest, refusal.message,
      detail: .init(limit: refusal.limit?.rawValue))
  }
}
