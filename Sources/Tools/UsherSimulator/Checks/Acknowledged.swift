import JSONRPC

/// What the daemon has told clients that it stored, and may therefore not lose.
final class Acknowledged {
  private struct Account {
    let uid: UInt32
    /// The subject at the provider.
    let name: String
    let since: UInt64
    var forgetting: UInt64?
    var forgotten: UInt64?
    /// When the last revocation of its tokens was asked for and answered.
    var revocation: (sent: UInt64, answered: UInt64)?
  }

  private struct Flow {
    let uid: UInt32
    var revision: Int64
    var end: String?
    var seen: UInt64
  }

  /// The time for which the daemon keeps a flow that has ended, and a bit less.
  private static let kept: UInt64 = 23 * 3_600_000_000_000

  private let simulator: Simulator
  /// Whether the wall clock was ever wrong. The daemon may have removed flows as too old then.
  var wasClockSet = false
  private var accounts: [String: Account] = [:]
  private var flows: [String: Flow] = [:]

  init(_ simulator: Simulator) { self.simulator = simulator }

  /// Returns the ids of accounts or flows that belong to other users.
  func ids(of kind: String, notOf uid: UInt32) -> [String] {
    kind == "flow"
      ? flows.filter { $0.value.uid != uid }.keys.sorted()
      : accounts.filter { $0.value.uid != uid }.keys.sorted()
  }

  /// Whether an account or flow is known to belong to another user.
  func isForeign(_ id: String, to uid: UInt32) -> Bool {
    (accounts[id]?.uid ?? flows[id]?.uid ?? uid) != uid
  }

  func name(of account: String) -> String? { accounts[account]?.name }

  /// Records a call that is sent.
  func begin(_ call: SimulatedClient.Call) {
    guard call.method == "account.forget", let id = call.account, var account = accounts[id],
      account.uid == call.uid
    else { return }
    account.forgetting = account.forgetting ?? simulator.now
    accounts[id] = account
  }

  /// Records that a call succeeded.
  func end(_ call: SimulatedClient.Call) {
    guard let id = call.account, accounts[id]?.uid == call.uid else { return }
    switch call.method {
    case "account.forget": accounts[id]?.forgotten = simulator.now
    case "token.revoke": accounts[id]?.revocation = (call.sentAt, simulator.now)
    default: break
    }
  }

  /// Checks an answer to `account.list`.
  func check(list: [JSONValue], _ call: SimulatedClient.Call) {
    let listed = Set(list.compactMap { $0["id"]?.stringValue })
    for (id, account) in accounts.sorted(by: { $0.key < $1.key }) where account.uid == call.uid {
      if listed.contains(id), let forgotten = account.forgotten, forgotten < call.sentAt {
        simulator.fail("\(call.client) is told of \(account.name), which was forgotten before")
      }
      if !listed.contains(id), account.forgetting == nil, account.since < call.sentAt {
        simulator.fail("\(call.client) is not told of \(account.name): the account was lost")
      }
    }
    for account in list {
      guard let id = account["id"]?.stringValue, let subject = account["subject"]?.stringValue
      else { continue }
      guard accounts[id] == nil else { continue }
      accounts[id] = Account(uid: call.uid, name: subject, since: simulator.now)
    }
  }

  /// Checks that an account which a caller named was not lost.
  func checkNotFound(_ call: SimulatedClient.Call) {
    if let id = call.account, let account = accounts[id], account.uid == call.uid,
      account.forgetting == nil, account.since < call.sentAt
    {
      simulator.fail("\(call.client): \(call.method) does not find \(account.name): it was lost")
    }
    if let id = call.flow, let flow = flows[id], flow.uid == call.uid,
      flow.seen + Self.kept > simulator.now, flow.seen < call.sentAt, !wasClockSet
    {
      simulator.fail("\(call.client): \(call.method) does not find flow \(id): it was lost")
    }
  }

  /// Checks a flow in an answer, and records it.
  func check(flow: JSONValue, _ call: SimulatedClient.Call) {
    guard let id = flow["id"]?.stringValue, let revision = flow["revision"]?.integerValue,
      let status = flow["status"]?.stringValue
    else { return simulator.fail("\(call.client): a flow has no id, revision or status") }
    var known = flows[id] ?? Flow(uid: call.uid, revision: 0, seen: 0)
    if known.uid != call.uid {
      simulator.fail("\(call.client) of \(call.uid) received a flow of \(known.uid)")
    }
    if known.seen < call.sentAt {
      if revision < known.revision {
        simulator.fail(
          "\(call.client): flow \(id) went back from revision \(known.revision) to \(revision)")
      }
      if let end = known.end, end != status {
        simulator.fail("\(call.client): flow \(id) was \(end) and is \(status)")
      }
    }
    known.revision = max(known.revision, revision)
    known.end = known.end ?? (status == "active" ? nil : status)
    known.seen = simulator.now
    flows[id] = known
  }

  /// Whether a token of an account must not be handed out: the daemon had it before the account's
  /// tokens were revoked, and the call was sent afterwards.
  func wasRevoked(_ account: String?, _ issue: TokenHistory.Issue, before call: UInt64) -> Bool {
    guard let account, let revocation = accounts[account]?.revocation else { return false }
    return issue.grant.newestHandedOut(at: revocation.sent) >= issue.generation
      && revocation.answered < call
  }
}
