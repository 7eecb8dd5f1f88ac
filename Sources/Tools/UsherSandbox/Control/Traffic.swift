/// What leaves for the client.
package enum Delivery: Sendable, Equatable {
  case whole(Reply)
  /// The whole length announced, half of the body sent, then the end.
  case half(Reply)
  /// A JSON body of so many bytes.
  case huge(Int)
  /// A TCP reset.
  case reset

  package var status: Int? {
    switch self {
    case .whole(let reply), .half(let reply): reply.status
    case .huge: 200
    case .reset: nil
    }
  }
}

/// The log and the faults that every request to a backend passes.
package actor Traffic {
  private var log = RequestLog()
  private var faults = FaultTable()
  /// The requests that a fault holds, by the fault's id; a task ends when its request goes on.
  private var held: [String: [Task<Void, Never>]] = [:]
  private let clock: SandboxClock

  package init(clock: SandboxClock) {
    self.clock = clock
  }

  /// Carries a request out, or lets go wrong what is to go wrong.
  ///
  /// Its line in the log stands before the first byte of the answer leaves.
  package func carry(_ call: Call, to endpoint: Endpoint) async -> Delivery {
    // Of a body in JSON nothing is looked at: a password may look like a field.
    let form = call.contentType == "application/json" ? nil : try? Form(parsing: call.body)
    let fault = faults.strike(endpoint.name, grantType: form?["grant_type"])
    var logged = call
    if endpoint.hidesPath { logged.path = endpoint.path }
    let number = log.begin(
      logged, endpoint: endpoint.name, form: form, fault: fault?.id, at: clock.now())
    let delivery: Delivery
    if let fault {
      let hold = fault.rule.fault.held == true ? hold(fault.id) : nil
      delivery = await fault.rule.fault.deliver(after: hold) { await endpoint.handle(call) }
    } else {
      delivery = .whole(await endpoint.handle(call))
    }
    log.finish(number, status: delivery.status, error: delivery.error)
    return delivery
  }

  package func requests(endpoint: String?, grantType: String?) -> [LoggedRequest] {
    log.matching(endpoint: endpoint, grantType: grantType)
  }

  package func forgetRequests() { log.removeAll() }

  package func add(_ rule: FaultRule) -> String? { faults.add(rule) }

  package func rules() -> [FaultTable.Entry] { faults.entries }

  /// A rule that has struck as often as it may is not in the table, but may still hold requests.
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
    case .whole(let reply), .half(let reply): reply.error
    case .huge, .reset: nil
    }
  }
}

extension Fault {
  /// The faulty answer. The handler runs where its own answer is sent in some form, or where
  /// ``processed`` asks for it.
  ///
  /// - Parameter hold: Ends when the request may go on; nil where the fault does not hold it.
  package func deliver(
    after hold: Task<Void, Never>? = nil, _ handle: () async -> Reply
  ) async -> Delivery {
    if processed == true {
      let reply = await handle()
      await pause(hold)
      return spoiled(reply)
    }
    await pause(hold)
    return needsReply ? spoiled(await handle()) : spoiled(Reply(status: 200))
  }

  private var needsReply: Bool {
    reset != true && status == nil && brokenJSON != true && hugeBody == nil && body == nil
  }

  // Cancelled only when the sandbox stops; both waits end at once then.
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

  private func spoiled(_ reply: Reply) -> Delivery {
    if reset == true { return .reset }
    if let hugeBody { return .huge(hugeBody) }
    var reply = reply
    if brokenJSON == true {
      reply = Reply(
        status: status ?? 200, headers: ["Content-Type": "application/json"],
        body: Array(#"{"access_token":"at_broken","expires_in":"#.utf8))
    } else if let body {
      reply = .json(body, status: status ?? 200)
    } else if let status {
      reply = .refusal("server_error", "a fault was asked for", status: status)
    }
    if let contentType { reply.headers["Content-Type"] = contentType }
    reply.headers.merge(headers ?? [:]) { $1 }
    return halfBody == true ? .half(reply) : .whole(reply)
  }
}
