import UsherConfig
import UsherCore
import UsherDaemon
import UsherFlows
import UsherSandbox

/// The network between the daemon and the providers. The seed determines which requests are refused
/// or lost, and which replies are lost, late, garbled or replaced by an error.
final class ProviderNetwork: @unchecked Sendable {
  /// What happens to a request.
  private enum Fate: String {
    case delivered, refused, lostBefore, lostReply, late, unavailable, garbled, unusable, sentTwice
  }

  private let simulator: Simulator
  private let host: SandboxHost
  private let history: TokenHistory
  private let outside: SimulatorExecutor
  private var random: RandomStream
  /// The percentage of requests that do not go well.
  private let faults: Int
  /// Called when a reply has reached the daemon.
  var onReply: (_ hasTokens: Bool) -> Void = { _ in }
  /// Whether faults are over.
  var isCalm = false
  private var exchanges = 0
  /// Functions that end the requests in progress of the daemon that runs.
  private var ends: [Int: (CallOutcome) -> Void] = [:]

  init(
    _ simulator: Simulator, _ host: SandboxHost, _ history: TokenHistory, hasFaults: Bool
  ) {
    self.simulator = simulator
    self.host = host
    self.history = history
    outside = SimulatorExecutor(simulator)
    random = RandomStream(seed: simulator.seed, for: "network")
    faults = hasFaults ? random.pick([2, 5, 25]) : 0
  }

  /// Returns the network as one run of the daemon uses it.
  func connect(_ life: Life) -> any ProviderTransport {
    ProviderConnection(network: self, life: life)
  }

  /// Ends the requests in progress, because the daemon was killed. Their replies reach nobody.
  func cut() {
    for number in ends.keys.sorted() {
      ends[number]?(.unreachable(message: "the daemon was killed", sent: true))
    }
  }

  private func fate() -> Fate {
    guard !isCalm, random.chance(faults) else { return .delivered }
    return random.pick([
      .refused, .lostBefore, .lostReply, .late, .unavailable, .garbled, .unusable, .sentTwice,
    ])
  }

  /// Sends a request; calls `end` once, at the latest when the time limit is over.
  ///
  /// - Returns: A function that ends the request early with an outcome.
  fileprivate func send(
    _ request: HTTPRequest, within limit: Duration,
    _ end: @escaping (CallOutcome) -> Void
  ) -> (CallOutcome) -> Void {
    exchanges += 1
    let (number, fate) = (exchanges, fate())
    let path = request.url.dropFirst(SandboxHost.base.count).prefix { $0 != "?" }
    simulator.trace.note("request \(number) \(request.method.rawValue) \(path): \(fate.rawValue)")
    let exchange = history.begin(number, request)
    let finish = { [self] (outcome: CallOutcome) in
      guard history.end(exchange, outcome) else { return }
      ends[number] = nil
      simulator.trace.note("reply \(number) \(outcome.summary)")
      end(outcome)
      if case .reply = outcome { onReply(exchange.issued != nil) }
    }
    ends[number] = finish
    if fate == .refused {
      simulator.after(random.duration(.microseconds(100) ... .seconds(1))) {
        finish(.unreachable(message: "the connection was refused", sent: false))
      }
      return finish
    }
    simulator.after(limit) {
      finish(.unreachable(message: "the provider did not answer in time", sent: true))
    }
    if fate == .lostBefore { return finish }
    simulator.after(random.duration(.microseconds(100) ... .milliseconds(500))) { [self] in
      if fate == .unavailable {
        deliver(unavailable(), fate, limit, finish)
      } else {
        process(request, exchange) { [self] in deliver($0, fate, limit, finish) }
      }
      guard fate == .sentTwice else { return }
      history.isSentTwice(exchange)
      simulator.after(random.duration(.microseconds(100) ... .seconds(20))) { [self] in
        process(request, exchange.again(history.provided)) { _ in }
      }
    }
    return finish
  }

  /// The reply of a gateway that cannot reach the provider, or lets no more requests through.
  private func unavailable() -> HTTPReply {
    let status = random.pick([500, 503, 503, 429])
    let headers = random.chance(50) ? ["retry-after": "\(random.number(1...10))"] : [:]
    return HTTPReply(status: status, headers: status == 500 ? [:] : headers)
  }

  private func process(
    _ request: HTTPRequest, _ exchange: ProviderExchange, _ answer: @escaping (HTTPReply) -> Void
  ) {
    let answer = UncheckedSendable(answer)
    Task(executorPreference: outside) { [self] in
      var headers: [String: String] = [:]
      for header in request.headers { headers[header.name.lowercased()] = header.value.revealed() }
      let reply = await host.handle(
        Endpoint.Method(rawValue: request.method.rawValue) ?? .get, request.url, headers: headers,
        body: Array((request.body?.revealed() ?? "").utf8))
      history.processed(exchange, reply)
      var fields: [String: String] = [:]
      for (name, value) in reply.headers { fields[name.lowercased()] = value }
      answer.value(HTTPReply(status: reply.status, headers: fields, body: reply.body))
    }
  }

  private func deliver(
    _ reply: HTTPReply, _ fate: Fate, _ limit: Duration,
    _ finish: @escaping (CallOutcome) -> Void
  ) {
    var (reply, delay) = (reply, random.duration(.microseconds(100) ... .milliseconds(500)))
    switch fate {
    case .lostReply: return
    case .late: delay = random.chance(50) ? limit + .seconds(1) : limit - .milliseconds(600)
    case .garbled: reply.body = Array(reply.body.prefix(random.number(0...reply.body.count / 2)))
    case .unusable:
      // The daemon accepts only bearer tokens, or only those that are bound to a key, but must keep
      // the refresh token of such a reply.
      let text = String(decoding: reply.body, as: UTF8.self)
      reply.body = Array(
        text.replacing("\"Bearer\"", with: "\"unknown\"")
          .replacing("\"DPoP\"", with: "\"Bearer\"").utf8)
    case .delivered, .refused, .lostBefore, .unavailable, .sentTwice: break
    }
    simulator.after(delay) { [reply] in finish(.reply(reply)) }
  }
}

/// The transport of one run of the daemon.
private final class ProviderConnection: ProviderTransport, @unchecked Sendable {
  private let network: ProviderNetwork
  private let life: Life
  /// Functions that end the requests in progress.
  private var ends: [Int: (CallOutcome) -> Void] = [:]
  private var sent = 0
  private var isShutDown = false
  let closing = WorkCounter()

  init(network: ProviderNetwork, life: Life) {
    self.network = network
    self.life = life
  }

  func send(_ request: HTTPRequest, by settings: HTTPSettings) async -> CallOutcome {
    guard !isShutDown, !Task.isCancelled else {
      return .unreachable(message: "the daemon stops", sent: false)
    }
    sent += 1
    let number = sent
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let limit = Duration.seconds(settings.requestTimeoutSeconds)
        ends[number] = network.send(request, within: limit) { [self] outcome in
          ends[number] = nil
          life.runIfAlive { continuation.resume(returning: outcome) }
        }
      }
    } onCancel: {
      ends[number]?(.unreachable(message: "the request was cancelled", sent: true))
    }
  }

  func retain(_ settings: [HTTPSettings]) {}

  func shutdown() async {
    isShutDown = true
    for number in ends.keys.sorted() {
      ends[number]?(.unreachable(message: "the daemon stops", sent: true))
    }
  }
}

/// A value that is passed between tasks which run on the same thread.
struct UncheckedSendable<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension CallOutcome {
  /// The outcome without the parts that differ between two runs of a seed.
  fileprivate var summary: String {
    switch self {
    case .reply(let reply): "\(reply.status)"
    case .unreachable(_, let sent): "unreachable, sent \(sent)"
    case .unreadable: "unreadable"
    case .noToken: "no token"
    }
  }
}
