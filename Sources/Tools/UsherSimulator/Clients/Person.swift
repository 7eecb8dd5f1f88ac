import JSONRPC
import UsherCore
import UsherSandbox

/// The people who use the flows: they act at the providers' pages, receive messages with codes, and
/// answer the steps of flows. What they do at each provider is written in `Workloads`.
final class Person: @unchecked Sendable {
  /// The passcode of every user of the machine.
  static let passcode = "2580-passcode"

  let simulator: Simulator
  let host: SandboxHost
  /// The values that belong to people, for the checks.
  let provided: ProvidedValues
  private let ends: FlowEnds
  private let outside: SimulatorExecutor
  var random: RandomStream
  private var numbers = 0

  init(_ simulator: Simulator, _ host: SandboxHost, _ checks: AnswerChecks) {
    self.simulator = simulator
    self.host = host
    provided = checks.provided
    ends = checks.ends
    outside = SimulatorExecutor(simulator)
    random = RandomStream(seed: simulator.seed, for: "person")
  }

  /// Answers a step some time later; now and then never.
  func attend(to flow: FollowedFlow, _ submit: @escaping (JSONValue) -> Void) {
    guard random.chance(96), let workload = Workloads.named(flow.provider) else { return }
    let submit = UncheckedSendable(submit)
    simulator.after(random.duration(.seconds(1) ... .seconds(60))) { [self] in
      Task(executorPreference: outside) { [self] in
        let input = await workload.answer(flow, self)
        simulator.trace.note("\(flow.customer) answers \(flow.kind) \(flow.stepType)")
        if let input { submit.value(input) }
      }
    }
  }

  /// Chooses a flow for a client to start.
  func propose(
    to client: FlowStarter, _ start: @escaping (_ provider: String, NewFlow) -> Void
  ) {
    let workload = random.pick(Workloads.all)
    let start = UncheckedSendable(start)
    Task(executorPreference: outside) { [self] in
      guard let flow = await workload.newFlow(for: client, self) else { return }
      start.value(workload.provider, flow)
    }
  }

  // MARK: - What a person has

  func customer(of uid: UInt32) -> String { random.pick(SandboxAccount.names(of: uid)) }

  /// Returns a number that no one got before, to tell things apart.
  func nextNumber() -> Int {
    numbers += 1
    return numbers
  }

  /// Returns a phone number of a user that no one got before.
  func newPhone(of uid: UInt32) -> String { "+9198\(uid)\(1000 + nextNumber() % 9000)" }

  // MARK: - What a person decides

  /// Records that the person did what lets a flow succeed.
  func approve(_ flow: FollowedFlow) { ends.approve(flow) }

  /// Returns whether the person allows what the provider asks, and records it.
  func decides(on flow: FollowedFlow) -> Bool {
    let isAllowed = random.chance(90)
    simulator.trace.note("\(flow.customer) \(isAllowed ? "allows" : "denies") \(flow.kind)")
    if isAllowed { approve(flow) }
    return isAllowed
  }

  /// Types the passcode at the machine, rightly or wrongly, or gives up.
  func provesPresence(in flow: FollowedFlow) -> JSONValue {
    guard random.chance(95) else { return ["type": "localAuth", "cancel": true] }
    let isRight = random.chance(90)
    if isRight { approve(flow) }
    return ["type": "localAuth", "passcode": .string(isRight ? Self.passcode : "wrong")]
  }

  // MARK: - Codes

  /// Returns a code as the person types it: now and then mistyped.
  func types(_ code: String) -> (text: String, isRight: Bool) {
    guard random.chance(15), let last = code.last else { return (code, true) }
    return (code.dropLast() + (last == "0" ? "1" : "0"), false)
  }

  /// Reads the newest message of a provider to a phone number or address, and returns the code as
  /// the person types it; nil if there is none.
  func typesCode(
    sentTo contact: String, by provider: String
  ) async -> (text: String, isRight: Bool)? {
    await newestCode(sentTo: contact, by: provider).map(types)
  }

  func newestCode(sentTo contact: String, by provider: String) async -> String? {
    let contact = contact.replacing("+", with: "%2B")
    let outbox = await control("/_control/outbox?to=\(contact)&provider=\(provider)")
    return outbox["messages"]?.arrayValue?.first?["code"]?.stringValue
  }

  // MARK: - The sandbox

  /// Submits a form of a page.
  func press(on page: Reply, _ fields: [(String, String)], to path: String) async -> Reply {
    await host.submit(page.hiddenFields + fields, to: path)
  }

  /// Calls the sandbox's control API; returns null if the reply is not JSON.
  @discardableResult
  func control(_ path: String, _ body: JSONValue? = nil) async -> JSONValue {
    let reply = await host.control(path, body)
    return (try? JSONValue(parsing: reply.body)) ?? .null
  }
}
