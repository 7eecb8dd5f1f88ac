import JSONRPC
import Testing

@testable import UsherAPI

@Suite("Traits of methods")
struct MethodTraitsTests {
  /// One line for each method, so that a review sees every change of access.
  @Test("the traits and subjects of all methods equal the table in this test")
  func table() {
    let lines = Methods.all.map { line(of: $0) }
    #expect(lines.joined(separator: "\n") == Self.table)
  }

  private func line<M: Method>(of method: M.Type) -> String {
    let words = [M.access.rawValue, M.subject.words] + M.traits.words
    return "\(M.name): \(words.compactMap(\.self).joined(separator: ", "))"
  }

  private static let table = """
    account.forget: app, about one account, audited, confirmable
    account.get: app, about an account, repeatable, audited together, confirmable, shows profiles, reads shared accounts
    account.list: app, about a provider, repeatable, audited together, shows profiles, reads shared accounts
    audit.list: admin, repeatable
    audit.verify: admin, repeatable
    client.clear: app, about a provider, audited, confirmable
    confirm.answer: app, audited
    confirm.forget: app, audited
    confirm.list: app, repeatable
    consent.list: app, about an account, repeatable
    consent.revoke: app, about an account, audited
    credential.delete: admin, audited
    credential.list: admin, repeatable
    credential.set: admin, repeatable, audited
    events.subscribe: app, repeatable
    events.unsubscribe: app
    flow.cancel: app, about a flow, repeatable, follows flow.start
    flow.get: app, about a flow, repeatable, follows flow.start
    flow.list: app, about a provider, repeatable, follows flow.start
    flow.start: app, about a new flow, repeatable with requestId, audited, confirmable
    flow.submit: app, about a flow, follows flow.start
    flow.wait: app, about a flow, repeatable, follows flow.start
    key.createRecovery: admin, audited
    localAuth.setPasscode: app, audited
    localAuth.status: app, repeatable
    owner.accept: admin, about an owner, audited
    owner.forget: admin, about an owner, audited
    owner.list: admin
    policy.check: admin, repeatable
    policy.list: admin, repeatable
    provider.check: admin, about a provider, repeatable
    provider.get: app, about a provider, repeatable
    provider.list: app, repeatable
    registration.checkDuplicate: app, about a provider, repeatable, audited, confirmable
    registration.checkUserKey: app, about a provider, repeatable, audited, confirmable
    rpc.cancel: app, for everybody, works locked
    rpc.discover: app, for everybody, repeatable, works locked
    rpc.hello: app, for everybody, works locked
    system.backup: admin, audited
    system.lock: app, for operators, repeatable, audited, works locked
    system.reload: admin, repeatable, audited, works locked
    system.status: app, for everybody, repeatable, works locked
    system.unlock: app, for operators, audited, works locked
    token.get: app, about a token, repeatable without forceRefresh, audited together, confirmable, hands out a secret, reads shared accounts
    token.list: app, about an account, repeatable, reads shared accounts
    token.revoke: app, about one account, audited, confirmable
    totp.code: app, about one account with codes, audited together, confirmable, hands out a secret, reads shared accounts
    totp.list: app, about a provider, repeatable, reads shared accounts
    """

  @Test("method names are unique, and an unknown method has the unknown traits")
  func names() {
    let names = Methods.all.map { method in method.name }
    #expect(Set(names).count == names.count)
    #expect(Methods.traits(of: "no.such") == .unknown)
    #expect(Methods.traits(of: "token.get") == TokenGet.traits)
  }

  @Test("a method's traits and a call's parameters decide whether the call is repeatable")
  func repetition() {
    #expect(FlowStart.traits.repetition.allows(["requestId": "r"]))
    #expect(!FlowStart.traits.repetition.allows(["requestId": nil]))
    #expect(!FlowStart.traits.repetition.allows([:]))
    #expect(TokenGet.traits.repetition.allows(["forceRefresh": false]))
    #expect(!TokenGet.traits.repetition.allows(["forceRefresh": true]))
    #expect(FlowGet.traits.repetition.allows([:]) && !FlowSubmit.traits.repetition.allows([:]))
  }
}

extension Subject {
  fileprivate var words: String? {
    switch self {
    case .method: nil
    case .provider: "about a provider"
    case .start: "about a new flow"
    case .flow: "about a flow"
    case .account: "about an account"
    case .oneAccount: "about one account"
    case .oneAccountWithCodes: "about one account with codes"
    case .token: "about a token"
    case .owner: "about an owner"
    }
  }
}

extension MethodTraits {
  fileprivate var words: [String] {
    var words: [String] = []
    switch audience {
    case .allowedCallers: break
    case .everybody: words.append("for everybody")
    case .operators: words.append("for operators")
    }
    switch repetition {
    case .never: break
    case .always: words.append("repeatable")
    case .ifGiven(let member): words.append("repeatable with \(member)")
    case .unlessTrue(let member): words.append("repeatable without \(member)")
    }
    switch audit {
    case .denials: break
    case .everything: words.append("audited")
    case .everythingAggregated: words.append("audited together")
    }
    if isConfirmable { words.append("confirmable") }
    if handsOutSecret { words.append("hands out a secret") }
    if showsProfiles { words.append("shows profiles") }
    if readsSharedAccounts { words.append("reads shared accounts") }
    if followsFlowStart { words.append("follows flow.start") }
    if worksLocked { words.append("works locked") }
    return words
  }
}
