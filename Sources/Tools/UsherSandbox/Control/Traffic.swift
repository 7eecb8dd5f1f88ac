/// The response to a client, as the faults leave it.
package enum Delivery: Sendable, Equatable {
  case complete(Reply)
  /// Announces the whole length, sends half of the body and closes the connection.
  case truncated(Reply)
  /// A JSON body of this many bytes.
  case padded(Int)
  /// A TCP reset.
  case reset

  package var status: Int? {
    switch self {
    case .complete(let reply), .truncated(let reply): reply.status
    case .padded: 200
    case .reset: nil
    }
  }
}

/// The request log and the faults, which all requests to a backend pass through.
package actor Traffic {
  private var log = RequestLog()
  private var faults = FaultTable()
  private var recorder = ExchangeRecorder()
  /// Tasks that end when a held request may continue, by the id of the fault.
  private var held: [String: [Task<Void, Never>]] = [:]
  private let clock: SandboxClock

  package init(clock: SandboxClock) {
    self.clock = clock
  }

  /// Handles a request, or injects the fault that applies to it.
  ///
  /// The request's log entry is complete before the first byte of the response is sent.
  package func handle(_ call: EndpointCall, to endpoint: Endpoint) async -> Delivery {
    let form = Self.loggedFields(of: call)
    let fault = faults.nextFault(endpoint.name, grantType: form?["grant_type"])
    var logged = call
    if endpoint.hidesPath { logged.path = endpoint.path }
    let number = log.begin(
      logged, endpoint: endpoint.name, form: form, fault: fault?.id, at: clock.now())
    let delivery: Delivery
    if let fault {
      let hold = fault.rule.fault.held == true ? hold(fault.id) : nil
      delivery = await fault.rule.fault.deliver(after: hold) { await endpoint.handle(call) }
    } else {
      delivery = .complete(await endpoint.handle(call))
    }
    log.finish(number, status: delivery.status, error: delivery.error)
    recorder.record(call, to: endpoint, delivery)
    return delivery
  }

  /// The fields of a request's body from which the log and the faults take the grant type and the
  /// client.
  ///
  /// A JSON body is not parsed as a form: a string in it, such as a password, could look like a
  /// form field and be logged.
  private static func loggedFields(of call: EndpointCall) -> Form? {
    guard call.contentType == "application/json" else { return try? Form(parsing: call.body) }
    guard let body = try? JSON(parsing: call.body), let grantType = body["grant_type"]?.text
    else { return nil }
    return Form(["grant_type": grantType, "client_id": body["client_id"]?.text ?? ""])
  }

  package func requests(endpoint: String?, grantType: String?) -> [LoggedRequest] {
    log.matching(endpoint: endpoint, grantType: grantType)
  }

  package func forgetRequests() { log.removeAll() }

  package func recordExchanges() { recorder.start() }

  package func recordedExchanges() -> [RecordedExchange] { recorder.exchanges }

  package func add(_ rule: FaultRule) -> String? { faults.add(rule) }

  package func rules() -> [FaultTable.Entry] { faults.entries }

  /// Removes a rule and releases the requests that it holds; returns false if there was neither. A
  /// rule that was used up is no longer in the table but may still hold requests.
  package func removeRule(_ id: String) -> Bool {
    let holds = held.removeValue(forKey: id) ?? []
    for hold in holds { hold.cancel() }
    return faults.remove(id) || !holds.isEmpty
  }

  package func removeAllRules() {
    faults.removeAll()
    for hold in held.values.joined() { hold.cancel() }
    held = [:]
  }

  /// Returns a task that ends when the fault is deleted.
  private func hold(_ id: String) -> Task<Void, Never> {
    let hold = Task { _ = try? await Task.sleep(for: .milliseconds(Fault.longestDelay)) }
    held[id, default: []].append(hold)
    return hold
  }
}

extension Delivery {
  package var error: String? {
    switch self {
    case .complete(let reply), .truncated(let reply): reply.error
    case .padded, .reset: nil
    }
  }
}

extension Fault {
  /// Returns the faulty response. Runs the handler if that needs it or ``processed`` is set.
  ///
  /// - Parameter hold: A task that ends when the request may continue; nil if the request is not
  ///   held.
  package func deliver(
    after hold: Task<Void, Never>? = nil, _ handle: () async -> Reply
  ) async -> Delivery {
    if processed == true {
      let reply = await handle()
      await pause(hold)
      return applied(reply)
    }
    await pause(hold)
    return needsReply ? applied(await handle()) : applied(Reply(status: 200))
  }

  private var needsReply: Bool {
    reset != true && status == nil && brokenJSON != true && hugeBody == nil && body == nil
  }

  // The task is cancelled only when the sandbox stops; both waits then end at once.
  private func pause(_ hold: Task<Void, Never>?) async {
    if let hold {
      await withTaskCancellationHandler {
        await hold.value
      } onCancel: {
        hold.cancel()
      }
    }
    guard let delayMs else { return }
    try? await Task.sleep(for: .milliseconds(delayMs))
  }

  private func applied(_ reply: Reply) -> Delivery {
    if reset == true { return .reset }
    if let hugeBody { return .padded(hugeBody) }
    var reply = reply
    if brokenJSON == true {
      reply = Reply(
        status: status ?? 200, headers: ["Content-Type": "application/json"],
        body: Array(#"{"access_token":"at_broken","expires_in":"#.utf8))
    } else if let body {
      reply = .json(body, status: status ?? 200)
    } else if let status {
      reply = .refusal("server_error", "injected fault", status: status)
    }
    if let contentType { reply.headers["Content-Type"] = contentType }
    reply.headers.merge(headers ?? [:]) { $1 }
    return halfBody == true ? .truncated(reply) : .complete(reply)
  }
}
