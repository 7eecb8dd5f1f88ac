import JSONRPC

/// What the daemon has told clients that it stored, and may therefore not lose.
final class Acknowledged {
  private struct Account {
    let uid: UInt32
    /// The subject at the provider.
    let name: String
    let since: UInt64
    /// The number of calls that may have deleted the account: they are not answered, or their
    /// answer leaves it open.
    var deletions = 0
    var forgotten: UInt64?
    /// When the last revocation of its tokens was asked for and answered.
    var revocation: (sent: UInt64, answered: UInt64)?
  }

  /// The calls that ask for the end of an account's sign-in.
  private struct Ends {
    /// The number of calls that are not answered.
    var open = 0
    /// When the last one was answered.
    var last: UInt64 = 0
  }

  private struct Flow {
    let uid: UInt32
    var revision: Int64
    var end: String?
    var seen: UInt64
  }

  /// The reasons of refusals after which the call has changed nothing. Whether a change is on disk
  /// that the disk refused is not known.
  private static let certainRefusals: Set<String> = [
    "locked", "permission_denied", "overloaded", "rate_limited",
  ]
  /// The time for which the daemon keeps a flow that has ended, and a bit less.
  private static let kept: UInt64 = 23 * 3_600_000_000_000

  private let simulator: Simulator
  /// Whether the wall clock was ever wrong. The daemon may have removed flows as too old then.
  var wasClockSet = false
  private var accounts: [String: Account] = [:]
  private var flows: [String: Flow] = [:]
  /// By account at the providers.
  private var ends: [String: Ends] = [:]

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

  /// Returns the ids of the flows of a user that the daemon must still know, sorted.
  func keptFlows(of uid: UInt32) -> [String] {
    flows.filter { $0.value.uid == uid && $0.value.seen + Self.kept > simulator.now }.keys.sorted()
  }

  /// Whether somebody asked, at a time or later, to end the sign-in of an account at the provider.
  func wasEndAskedFor(_ name: String, since time: UInt64) -> Bool {
    guard let ends = ends[name] else { return false }
    return ends.open > 0 || ends.last >= time
  }

  /// Returns the caller's own account that a call deletes or revokes.
  private func ended(by call: SimulatedClient.Call) -> (id: String, name: String)? {
    guard ["account.forget", "token.revoke"].contains(call.method), let id = call.account,
      let account = accounts[id], account.uid == call.uid
    else { return nil }
    return (id, SandboxAccount.name(of: account.name))
  }

  /// Records a call that is sent.
  func begin(_ call: SimulatedClient.Call) {
    guard let (id, name) = ended(by: call) else { return }
    ends[name, default: Ends()].open += 1
    if call.method == "account.forget" { accounts[id]?.deletions += 1 }
  }

  /// Records the answer to a call.
  ///
  /// - Parameter refusal: The reason of the error; nil if the call succeeded.
  func end(_ call: SimulatedClient.Call, _ refusal: String?) {
    guard let (id, name) = ended(by: call) else { return }
    ends[name]?.open -= 1
    ends[name]?.last = simulator.now
    if refusal == nil {
      if call.method == "account.forget" { accounts[id]?.forgotten = simulator.now }
      if call.method == "token.revoke" {
        accounts[id]?.revocation = (call.sentAt, simulator.now)
      }
    } else if call.method == "account.forget", Self.certainRefusals.contains(refusal ?? "") {
      accounts[id]?.deletions -= 1
    }
  }

  /// Checks an answer to `account.list`.
  func check(list: [JSONValue], _ call: SimulatedClient.Call) {
    let listed = Set(list.compactMap { $0["id"]?.stringValue })
    for (id, account) in accounts.sorted(by: { $0.key < $1.key }) where account.uid == call.uid {
      if listed.contains(id), let forgotten = account.forgotten, forgotten < call.sentAt {
        simulator.fail("\(call.client) is told of \(account.name), which was forgotten before")
      }
      if !listed.contains(id), account.deletions == 0, account.since < call.sentAt {
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
      account.deletions == 0, account.since < call.sentAt
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
    if flow["failure"]?["title"] == "Not stored" {
      simulator.fail("\(call.client): flow \(id) failed because a state of it was not stored")
    }
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
    return issue.grant.newestHandedOut(for: issue.audience, at: revocation.sent) >= issue.generation
      && revocation.answered < call
  }
}
