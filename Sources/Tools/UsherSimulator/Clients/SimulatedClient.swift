import JSONRPC
import UsherCore

/// A program that calls the daemon: it connects, sends calls as the seed determines, and follows
/// the flows that it starts.
final class SimulatedClient {
  /// A call that is not answered yet.
  struct Call {
    let method: String
    let sentAt: UInt64
  }

  struct Flow {
    var revision: JSONValue
    var isShown = false
  }

  let name: String
  let uid: UInt32
  private let number: Int
  private let simulator: Simulator
  private let machine: Machine
  private let person: Person
  private let checks: AnswerChecks
  private var random: RandomStream
  private var socket: ClientSocket?
  private var connections = 0
  private var nextID: Int64 = 1
  private var calls: [Int64: Call] = [:]
  private var flows: [String: Flow] = [:]
  /// The ids of the accounts that the daemon listed.
  private var accounts: [String] = []
  /// The part of a line that is to be sent later.
  private var rest: [UInt8] = []
  /// The call that ``ask(_:_:limit:)`` waits for, and its answer.
  private var awaited: Int64?
  private var reply: JSONValue?
  /// Whether the client reads only now and then.
  private var isSlow: Bool

  init(
    _ number: Int, _ simulator: Simulator, _ machine: Machine, _ person: Person,
    _ checks: AnswerChecks
  ) {
    self.number = number
    self.simulator = simulator
    self.machine = machine
    self.person = person
    self.checks = checks
    let uids = SimulatedUsers.names.keys.sorted()
    uid = uids[number % uids.count]
    name = "client-\(number)"
    random = RandomStream(seed: simulator.seed, for: name)
    isSlow = random.chance(15)
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
    connections += 1
    socket = ClientSocket(
      to: machine.socketPath,
      as: ClientIdentity(uid: uid, client: number, connection: connections))
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
  }

  // MARK: - Calls

  private func call(cut: Bool = false) {
    let (method, params) = choice()
    send(method, params, cut: cut)
  }

  private func choice() -> (String, JSONValue) {
    let demo: JSONValue = ["provider": "demo"]
    let account = accounts.isEmpty ? nil : random.pick(accounts)
    let chosen: JSONValue = account.map { ["account": .string($0)] } ?? demo
    let flow = flows.keys.sorted().randomElement(using: &random)
    let method = random.pick(weighted: [
      (60, "token.get"), (1, "refresh"),
      (flows.count > 1 ? 0 : account == nil ? 8 : 1, "flow.start"),
      (flow == nil ? 0 : 12, "flow.wait"), (flow == nil ? 0 : 6, "flow.get"),
      (flow == nil ? 0 : 2, "flow.cancel"), (4, "account.list"), (2, "account.get"),
      (1, "account.forget"), (1, "token.revoke"), (2, "token.list"), (2, "system.status"),
      (1, "flow.list"), (1, "no.such.method"),
    ])
    switch method {
    case "refresh": return ("token.get", chosen.adding(["forceRefresh": true]))
    case "token.get": return (method, chosen)
    case "flow.start": return (method, demo.adding(["kind": "device", "params": [:]]))
    case "flow.wait":
      return (
        method,
        [
          "flow": .string(flow ?? ""), "revision": flows[flow ?? ""]?.revision ?? 0,
          "timeoutMs": .integer(Int64(random.number(0...30_000))),
        ]
      )
    case "flow.get", "flow.cancel": return (method, ["flow": .string(flow ?? "")])
    case "account.get", "account.forget", "token.revoke":
      return (method, ["account": .string(account ?? "acc_none")])
    default: return (method, [:])
    }
  }

  /// Sends a call. If it is cut, a part of its line follows with the next act.
  @discardableResult
  func send(_ method: String, _ params: JSONValue, cut: Bool = false) -> Int64? {
    guard connected() != nil else { return nil }
    let id = nextID
    nextID += 1
    let line: JSONValue = [
      "jsonrpc": "2.0", "id": .integer(id), "method": .string(method), "params": params,
    ]
    simulator.trace.note("\(name) sends \(id) \(method)")
    checks.note(method, params)
    calls[id] = Call(method: method, sentAt: simulator.now)
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

  // MARK: - Answers

  /// Reads what the daemon has sent, now or later.
  func read() {
    guard let socket, socket.hasInput else { return }
    guard isSlow else { return readAll(socket) }
    isSlow = false
    simulator.after(random.duration(.milliseconds(1) ... .seconds(10))) { [self] in
      isSlow = true
      if self.socket === socket { readAll(socket) }
    }
  }

  private func readAll(_ socket: ClientSocket) {
    simulator.mayLoopsHaveWork = true
    socket.flush()
    for line in socket.lines() { take(line) }
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
    simulator.trace.note("\(name) receives \(id) \(call.method) \(Self.outcome(message))")
    if id == awaited { reply = message }
    checks.check(call, message, from: self)
    follow(call, message)
  }

  private static func outcome(_ message: JSONValue) -> String {
    guard let error = message["error"] else { return "ok" }
    return "error \(error["code"]?.integerValue ?? 0) \(error["message"]?.stringValue ?? "")"
  }

  private func follow(_ call: Call, _ message: JSONValue) {
    if let list = message["result"]?["accounts"]?.arrayValue {
      accounts = list.compactMap { $0["id"]?.stringValue }
    }
    guard let flow = message["result"]?["flow"], let id = flow["id"]?.stringValue else { return }
    guard flow["status"] == "active" else {
      flows[id] = nil
      return
    }
    var known = flows[id] ?? Flow(revision: 0)
    known.revision = flow["revision"] ?? 0
    if !known.isShown, let code = flow["step"]?["userCode"]?.stringValue {
      known.isShown = true
      person.enter(code, of: uid)
    }
    flows[id] = known
  }

  // MARK: - The end

  /// Sends a call and runs the simulation until the answer arrives.
  ///
  /// - Returns: The answer; nil if none arrives in time.
  func ask(_ method: String, _ params: JSONValue, limit: Duration) -> JSONValue? {
    isSlow = false
    reply = nil
    simulator.mayLoopsHaveWork = true
    awaited = send(method, params)
    _ = simulator.run(until: simulator.now + limit.nanoseconds) { reply != nil }
    return reply
  }

  /// The calls that are not answered, oldest first.
  var openCalls: [Call] { calls.keys.sorted().compactMap { calls[$0] } }
}

extension JSONValue {
  fileprivate func adding(_ members: [String: JSONValue]) -> JSONValue {
    var value = self
    for (name, member) in members { value[name] = member }
    return value
  }
}
