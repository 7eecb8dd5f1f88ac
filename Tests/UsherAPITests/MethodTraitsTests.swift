import FoundationEssentials
import JSONRPC
import Testing

@testable import UsherAPI

@Suite("Traits of methods")
struct MethodTraitsTests {
  /// The golden file has one line for each method, so that a review sees every change of access.
  @Test("the traits and subjects of all methods equal the golden file")
  func table() throws {
    let lines = Methods.all.map { line(of: $0) }
    let file = try goldenFile("methods.txt") { Data((lines.joined(separator: "\n") + "\n").utf8) }
    let golden = String(decoding: file, as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines == golden)
  }

  private func line<M: Method>(of method: M.Type) -> String {
    let words = [M.access.rawValue, M.subject.words] + M.traits.words
    return "\(M.name): \(words.compactMap(\.self).joined(separator: ", "))"
  }

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
    #expect(TokenGet.traits.repetition.allows(["challenge": nil]))
    #expect(!TokenGet.traits.repetition.allows(["challenge": "Bearer error=\"invalid_token\""]))
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
    case .target: "about a target"
    case .tokenForTarget: "about the token of a target"
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
    case .without(let members):
      words.append("repeatable without \(members.joined(separator: " or "))")
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
    if namesTarget { words.append("names a target") }
    if let permittedAs { words.append("permitted as \(permittedAs)") }
    return words
  }
}
