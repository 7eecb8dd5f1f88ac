import JSONRPC
import Synchronization
import Testing
import UsherTestKit

@testable import UsherCommands

/// The exit status and output of a command line.
struct Outcome {
  let status: Int32
  let output: String
  let error: String
}

/// Runs a command line without a daemon.
func usherctl(
  _ line: String, terminal: ScriptedTerminal = ScriptedTerminal(),
  programs: any Programs = NoPrograms(), time: TestTime = TestTime(),
  environment: [String: String] = ["USHER_SOCKET": "/tmp/usher-no-such-socket"],
  configFolder: String = "/tmp/usher-no-such-folder"
) async -> Outcome {
  let environment = CommandEnvironment(
    terminal: terminal, openPage: { terminal.open($0) }, programs: programs, clock: time,
    sleep: { try await time.sleep(for: $0) }, variables: environment, userID: 1000,
    configFolder: configFolder, tools: MachineTools(environment: environment),
    directories: SystemDirectories(environment: environment))
  let arguments = line.split(separator: " ").map(String.init)
  let status = await Usherctl.run(arguments, in: environment)
  return Outcome(status: status, output: terminal.output, error: terminal.error)
}

/// A call that the daemon expects next, and its reply.
struct Exchange: Sendable {
  let method: String
  let params: JSONValue
  let answer: Answer

  enum Answer: Sendable {
    case result(String)
    case error(String)
  }

  static func ask(_ method: String, _ params: JSONValue, _ result: String) -> Exchange {
    Exchange(method: method, params: params, answer: .result(result))
  }

  static func ask(_ method: String, _ result: String) -> Exchange { ask(method, [:], result) }

  static func refuse(_ method: String, _ params: JSONValue, _ error: String) -> Exchange {
    Exchange(method: method, params: params, answer: .error(error))
  }

  static func refuse(_ method: String, _ error: String) -> Exchange { refuse(method, [:], error) }
}

/// Runs a command line against a daemon that expects exactly these calls, in this order.
///
/// `flow.wait` is accepted at any time. It gets the reply of the next expected call if that is a
/// `flow.wait`; otherwise it gets no reply. `rpc.cancel` and `events.unsubscribe` are ignored.
func usherctl(
  _ line: String, terminal: ScriptedTerminal = ScriptedTerminal(),
  programs: any Programs = NoPrograms(), time: TestTime = TestTime(), asking exchanges: [Exchange],
  sockets: [String] = ["USHER_SOCKET"]
) async throws -> Outcome {
  let script = Script(exchanges)
  return try await FakeDaemon.run { peer in
    while true { try await script.answer(try await peer.next(), peer) }
  } _: { daemon in
    let environment = Dictionary(uniqueKeysWithValues: sockets.map { ($0, daemon.path) })
    let outcome = await usherctl(
      line, terminal: terminal, programs: programs, time: time, environment: environment)
    #expect(script.left == [])
    return outcome
  }
}

final class Script: Sendable {
  private let remaining: Mutex<[Exchange]>

  init(_ exchanges: [Exchange]) { remaining = Mutex(exchanges) }

  var left: [String] { remaining.withLock { $0.map(\.method) } }

  func answer(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    if ["rpc.cancel", "events.unsubscribe"].contains(call.method) { return }
    let exchange = remaining.withLock { remaining -> Exchange? in
      guard let next = remaining.first, next.method == call.method else { return nil }
      return remaining.removeFirst()
    }
    guard let exchange else {
      if call.method != "flow.wait" { Issue.record("unexpected: \(call.json)") }
      return
    }
    // The request id is random, unless the test expects a particular one.
    var params = call.params
    if exchange.params["requestId"] == nil { params["requestId"] = nil }
    #expect(params == exchange.params)
    switch exchange.answer {
    case .result(let result): try await peer.reply(call, result)
    case .error(let error): try await peer.fail(call, error)
    }
  }
}
