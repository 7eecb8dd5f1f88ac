import JSONRPC
import UsherCore

/// A program that calls the daemon: it connects, sends calls as the seed determines, and follows
/// the flows that it starts.
final class SimulatedClient {
  /// A call that is not answered yet.
  struct Call {
    let client: String
    let uid: UInt32
    let method: String
    /// The provider that the call names, or whose account it names.
    var provider: String?
    /// The account and the flow that the call names.
    let account: String?
    let flow: String?
    /// The audience of the token that the call asks for.
    var audience: String?
    /// Whether the call names an object of another user.
    let isForeign: Bool
    /// The flow that the call starts.
    var start: FollowedFlow?
    /// The names of the ``SingleRequest``s for which the call asks.
    var asks: [String] = []
    let sentAt: UInt64

    /// Whether the call is open to everybody, and while the daemon is locked.
    var isUngated: Bool { method == "system.status" || uid == 0 }
  }

  let name: String
  let uid: UInt32
  private let run: Int
  private let number: Int
  let simulator: Simulator
  private let machine: Machine
  let person: Person
  let checks: AnswerChecks
  var random: RandomStream
  private var socket: ClientSocket?
  private var connections = 0
  private var nextID: Int64 = 1
  private var calls: [Int64: Call] = [:]
  var flows: [String: Flow] = [:]
  /// The accounts that the daemon listed.
  var accounts: [FlowStarter.Account] = []
  /// The part of a line that is to be sent later.
  private var rest: [UInt8] = []
  /// The call that ``ask(_:_:limit:)`` waits for, and its answer.
  private var awaited: Int64?
  private var handlers: [Int64: (JSONValue?) -> Void] = [:]
  private var reply: JSONValue?
  /// Whether the client reads only now and then.
  private var isSlow: Bool
  private var isReadScheduled = false
  /// Whether answers are being read. The client notices only afterwards that the daemon has closed
  /// the connection.
  private var isReading = false

  /// Creates a client of one of the users; number 0 is the operator's.
  init(
    _ number: Int, run: Int, _ simulator: Simulator, _ machine: Machine, _ person: Person,
    _ checks: AnswerChecks
  ) {
    self.number = number
    self.run = run
    self.simulator = simulator
    self.machine = machine
    self.person = person
    self.checks = checks
    let uids = SimulatedUsers.names.keys.sorted()
    uid = number == 0 ? 0 : uids[number % uids.count]
    name = number == 0 ? "operator" : "client-\(number)"
    random = RandomStream(seed: simulator.seed, for: name)
    isSlow = false
    if number != 0 { isSlow = random.chance(15) }
  }

  // MARK: - Acts

  /// Acts now and again after pauses, until a time.
  func live(until end: UInt64) {
    guard simulator.now < end else { return }
    act()
    simulator.after(random.duration(.milliseconds(1) ... .seconds(100))) { [self] in
      live(until: end)
    }
  }

  private func act() {
    simulator.mayLoopsHaveWork = true
    guard let socket = connected() else { return }
    if !rest.isEmpty {
      socket.send(rest)
      rest = []
    }
    switch random.number(0...99) {
    case 0...2: disconnect("by the client")
    case 3: send([UInt8](repeating: UInt8(ascii: "x"), count: random.number(0...200)) + [0x0A])
    case 4...8: for _ in 0...random.number(1...6) { call() }
    case 9...11: call(cut: true)
    case 12...13: isSlow.toggle()
    default: call()
    }
  }

  private func connected() -> ClientSocket? {
    if let socket, socket.isOpen { return socket }
    guard !isReading else { return nil }
    connections += 1
    socket = ClientSocket(
      to: uid == 0 ? machine.adminSocketPath : machine.socketPath,
      as: ClientIdentity(run: run, uid: uid, client: number, connection: connections))
    simulator.trace.note("\(name) connects: \(socket == nil ? "refused" : "done")")
    return socket
  }

  private func disconnect(_ reason: String) {
    guard socket != nil else { return }
    simulator.trace.note("\(name) is disconnected \(reason)")
    socket?.close()
    socket = nil
    rest = []
    calls = [:]
    let lost = handlers.keys.sorted().compactMap { handlers[$0] }
    handlers = [:]
    for answer in lost { answer(nil) }
  }

  // MARK: - Calls

  /// Sends a call, and calls a function with its answer, or with nil if the connection ends before.
  func call(_ method: String, _ params: JSONValue, _ answer: @escaping (JSONValue?) -> Void) {
    simulator.mayLoopsHaveWork = true
    guard let id = send(method, params) else { return answer(nil) }
    handlers[id] = answer
  }

  private func call(cut: Bool = false) {
    let (method, params) = choice()
    if method == "flow.start" { startFlow(cut: cut) } else { send(method, params, cut: cut) }
  }

  private func choice() -> (String, JSONValue) {
    let provider: JSONValue = [
      "provider": random.chance(70) ? "demo" : .string(random.pick(Workloads.all).provider)
    ]
    var account = accounts.randomElement(using: &random)?.id
    var flow = flows.keys.sorted().randomElement(using: &random)
    if random.chance(5) {
      let acknowledged = checks.acknowledged
      account = acknowledged.ids(of: "account", notOf: uid).randomElement(using: &random) ?? account
      flow = acknowledged.ids(of: "flow", notOf: uid).randomElement(using: &random) ?? flow
    }
    let chosen: JSONValue = account.map { ["account": .string($0)] } ?? provider
    let method = random.pick(weighted: [
      (60, "token.get"), (1, "refresh"), (3, "token.proof"),
      (flows.count > 2 ? 0 : account == nil ? 12 : 6, "flow.start"),
      (flow == nil ? 0 : 12, "flow.wait"), (flow == nil ? 0 : 6, "flow.get"),
      (flow == nil ? 0 : 2, "flow.cancel"), (4, "account.list"), (2, "account.get"),
      (1, "account.forget"), (1, "token.revoke"), (2, "token.list"), (2, "system.status"),
      (1, "totp.code"),
      (1, "flow.list"), (1, "no.such.method"),
    ])
    switch method {
    case "refresh": return ("token.get", chosen.adding(["forceRefresh": true]))
    case "token.get": return (method, chosen.adding(tokenParameters()))
    case "token.proof":
      // Other accounts have no tokens that are bound to a key.
      let bound = accounts.first { $0.provider == OpenIDWorkload(.bound).provider }
      return (
        method,
        [
          "account": .string(bound?.id ?? "acc_none"), "method": "GET",
          "url": .string(random.pick(OpenIDWorkload.audiences) + "/list"),
        ]
      )
    case "flow.start": return (method, [:])
    case "flow.wait":
      return (
        method,
        [
          "flow": .string(flow ?? ""), "revision": flows[flow ?? ""]?.revision ?? 0,
          "timeoutMs": .integer(Int64(random.number(0...30_000))),
        ]
      )
    case "flow.get", "flow.cancel": return (method, ["flow": .string(flow ?? "")])
    case "totp.code":
      // Other accounts have no one-time codes.
      let registered = accounts.first { $0.provider == BSAWorkload().provider }
      return (method, ["account": .string(registered?.id ?? "acc_none")])
    case "account.get", "account.forget", "token.revoke":
      return (method, ["account": .string(account ?? "acc_none")])
    default: return (method, [:])
    }
  }

  /// Returns what a client may ask of a token: an audience, or the ID token.
  private func tokenParameters() -> [String: JSONValue] {
    switch random.number(0...9) {
    case 0...2: ["audience": .string(random.pick(OpenIDWorkload.audiences))]
    case 3: ["field": "idToken"]
    default: [:]
    }
  }

  /// Sends a call. If it is cut, a part of its line follows with the next act.
  @discardableResult
  func send(
    _ method: String, _ params: JSONValue, start: FollowedFlow? = nil, asks: [String] = [],
    cut: Bool = false
  ) -> Int64? {
    guard connected() != nil else { return nil }
    let id = nextID
    nextID += 1
    let line: JSONValue = [
      "jsonrpc": "2.0", "id": .integer(id), "method": .string(method), "params": params,
    ]
    simulator.trace.note("\(name) sends \(id) \(method)")
    let (account, flow) = (params["account"]?.stringValue, params["flow"]?.stringValue)
    let provider =
      params["provider"]?.stringValue ?? accounts.first { $0.id == account }?.provider
    let isForeign = [account, flow].contains { id in
      id.map { checks.acknowledged.isForeign($0, to: uid) } ?? false
    }
    let call = Call(
      client: name, uid: uid, method: method, provider: provider, account: account, flow: flow,
      audience: params["audience"]?.stringValue, isForeign: isForeign,
      start: start, asks: asks, sentAt: simulator.now)
    checks.begin(call)
    calls[id] = call
    let bytes = line.encoded() + [0x0A]
    let length = cut ? random.number(1...(bytes.count - 1)) : bytes.count
    send(Array(bytes[..<length]))
    rest = Array(bytes[length...])
    return id
  }

  private func send(_ bytes: [UInt8]) {
    socket?.send(rest + bytes)
    rest = []
  }

  /// Asks for all flows and accounts of the user.
  func askForLists() {
    simulator.mayLoopsHaveWork = true
    send("flow.list", [:])
    send("account.list", [:])
  }

  /// Asks for a token of each account of the user.
  func askForTokens() {
    simulator.mayLoopsHaveWork = true
    for account in accounts { send("token.get", ["account": .string(account.id)]) }
  }

  // MARK: - Answers

  /// Reads what the daemon has sent, now or later.
  func read() {
    guard !isReadScheduled, let socket, socket.hasInput else { return }
    guard isSlow else { return readAll(socket) }
    isReadScheduled = true
    simulator.after(random.duration(.milliseconds(1) ... .seconds(10))) { [self] in
      isReadScheduled = false
      if self.socket === socket { readAll(socket) } else { read() }
    }
  }

  private func readAll(_ socket: ClientSocket) {
    simulator.mayLoopsHaveWork = true
    socket.flush()
    isReading = true
    for line in socket.lines() { take(line) }
    isReading = false
    if !socket.isOpen { disconnect("by the daemon, with \(calls.count) calls") }
  }

  private func take(_ line: [UInt8]) {
    guard let message = try? JSONValue(parsing: line) else {
      return simulator.fail("\(name) received a line that is no JSON")
    }
    guard let id = message["id"]?.integerValue else {
      if message["error"] == nil {
        simulator.fail("\(name) received a message without id and error")
      }
      return
    }
    guard let call = calls.removeValue(forKey: id) else {
      return simulator.fail("\(name) received an answer to \(id), which is not open")
    }
    simulator.trace.note("\(name) receives \(id) \(call.method) \(outcome(message))")
    checks.check(call, message)
    if id == awaited { reply = message }
    if let answer = handlers.removeValue(forKey: id) { answer(message) }
    follow(call, message)
  }

  private func outcome(_ message: JSONValue) -> String {
    guard let error = message["error"] else { return "ok" }
    let reason = error["data"]?["reason"]?.stringValue ?? ""
    let text = error["message"]?.stringValue?.replacing(machine.root, with: "") ?? ""
    return "error \(reason): \(text)"
  }

  // MARK: - The end

  /// Sends a call and runs the simulation until the answer arrives.
  ///
  /// - Returns: The answer; nil if none arrives in time.
  func ask(_ method: String, _ params: JSONValue, limit: Duration) -> JSONValue? {
    isSlow = false
    isReadScheduled = false
    reply = nil
    simulator.mayLoopsHaveWork = true
    awaited = send(method, params)
    _ = simulator.run(until: simulator.now + UInt64(limit.nanoseconds)) { reply != nil }
    return reply
  }

  /// The calls that are not answered, oldest first.
  var openCalls: [Call] { calls.keys.sorted().compactMap { calls[$0] } }
}
