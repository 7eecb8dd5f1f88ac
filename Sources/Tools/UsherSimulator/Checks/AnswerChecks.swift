import JSONRPC
import UsherCore

/// Checks each answer of the daemon against what really happened.
final class AnswerChecks {
  private let simulator: Simulator
  private let history: TokenHistory
  /// The number of answers by method and error code, for the report.
  private(set) var counts: [String: Int] = [:]
  /// The accounts whose tokens a client asked to revoke.
  private var revoked: Set<String> = []

  init(_ simulator: Simulator, _ history: TokenHistory) {
    self.simulator = simulator
    self.history = history
  }

  /// Records a call that is sent.
  func note(_ method: String, _ params: JSONValue) {
    if method == "token.revoke", let account = params["account"]?.stringValue {
      revoked.insert(account)
    }
  }

  func wasRevoked(_ account: String) -> Bool { revoked.contains(account) }

  func check(_ call: SimulatedClient.Call, _ message: JSONValue, from client: SimulatedClient) {
    let code = message["error"]?["code"]?.integerValue
    counts["\(call.method) \(code.map { "\($0)" } ?? "ok")", default: 0] += 1
    guard (message["result"] == nil) != (message["error"] == nil) else {
      return simulator.fail("\(client.name): the answer has a result and an error, or neither")
    }
    if code == -32603 {
      simulator.fail("\(client.name): \(call.method) failed with an internal error")
    }
    if let accounts = message["result"]?["accounts"]?.arrayValue { check(accounts, for: client) }
    if let token = message["result"]?["accessToken"]?.stringValue {
      check(token, call, for: client)
    }
  }

  /// Checks that the accounts of a list are the caller's.
  private func check(_ accounts: [JSONValue], for client: SimulatedClient) {
    for account in accounts {
      let name = String(account["subject"]?.stringValue?.dropFirst("usr_".count) ?? "")
      if SandboxAccount.owner(name) != client.uid {
        simulator.fail("\(client.name) of \(client.uid) is told of the account \(name)")
      }
    }
  }

  private func check(
    _ token: String, _ call: SimulatedClient.Call, for client: SimulatedClient
  ) {
    guard let issue = history.issue(of: token) else {
      return simulator.fail("\(client.name) received a token that no provider issued")
    }
    let account = issue.grant.account
    if SandboxAccount.owner(account) != client.uid {
      simulator.fail("\(client.name) of \(client.uid) received a token of \(account)")
    }
    // The answer may have waited for a client that reads late.
    if issue.end <= call.sentAt {
      simulator.fail("\(client.name) received a token of \(account) that had ended before the call")
    }
    if issue.generation < issue.grant.newestHandedOutAt(call.sentAt) {
      simulator.fail(
        "\(client.name) received token \(issue.generation) of \(account) after "
          + "\(issue.grant.newestHandedOutAt(call.sentAt)) was handed out")
    }
    issue.grant.handOut(issue.generation, at: simulator.now)
  }
}
