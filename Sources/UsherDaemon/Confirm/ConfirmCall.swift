import Crypto
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// The parts of a client's call that a user is asked to approve. Two calls with equal parts are the
/// same question.
///
/// The parts include the provider operation with its request body and displayed text: approval of a
/// flow that reads does not approve one that pays, and approval of one payment does not approve
/// another.
struct ConfirmCall: Codable, Sendable {
  /// The maximum total size of all texts in bytes; a user could not judge more.
  static let maxBytes = 4096

  let client: String
  let method: String
  let provider: String?
  let kind: String?
  let account: String?
  /// The words of the scope in a fixed order, because a scope is a set of words.
  let scope: String?
  /// The audiences that the call names, with spaces between them; nil if it names none.
  let audience: String?
  /// The target of the configuration whose token the call requests; nil if it names none.
  let target: String?
  /// The call to the provider's API, `METHOD:/path`, with the query.
  let operation: String?
  /// The SHA-256 of the API call's request body, in hexadecimal digits; nil without a body.
  let bodyDigest: String?
  // The texts that the flow shows to the user who approves the operation. For a flow whose caller
  // names the person, the summary says whom.
  let summary: String?
  let amount: String?
  let payee: String?

  /// Takes the parts of a client's RPC call that a person is shown and must agree to.
  ///
  /// - Parameter start: The flow that the call starts; nil for other calls.
  init(_ request: PolicyRequest, _ start: FlowStart? = nil, of client: String) {
    self.client = client
    method = request.method
    provider = request.provider
    kind = request.kind
    account = request.account?.id
    scope = request.scopes.map { scopes in
      Set(scopes.map { Array($0.utf8) }).sorted { $0.lexicographicallyPrecedes($1) }
        .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }
    audience = request.audiences.flatMap { audiences in
      audiences.allSatisfy(\.isEmpty) ? nil : audiences.joined(separator: " ")
    }
    target = request.answeringTarget
    operation = start?.operationWithQuery ?? request.operation
    let params = operation == nil ? nil : start?.params
    bodyDigest = params?["body"].flatMap { body in
      body.isNull ? nil : SHA256.hash(data: body.encoded()).hexadecimal
    }
    let shown = params?["operation"]
    summary =
      shown?["summary"]?.stringValue ?? request.subject.map { "tokens for \($0)" }
      ?? start?.askedPerson.map { "a sign-in of \($0)" }
    amount = shown?["amount"]?.stringValue
    payee = shown?["payee"]?.stringValue
  }

  /// The name of the parameter with the longest text if all texts together are too long; else nil.
  var tooLongField: String? {
    let texts = [
      ("provider", provider), ("kind", kind), ("account", account), ("scope", scope),
      ("audience", audience), ("name", target),
      ("params.path", operation), ("params.operation.summary", summary),
      ("params.operation.amount", amount), ("params.operation.payee", payee),
    ].map { (field: $0, bytes: $1?.utf8.count ?? 0) }
    let all = client.utf8.count + method.utf8.count + texts.reduce(0) { $0 + $1.bytes }
    return all > Self.maxBytes ? texts.max { $0.bytes < $1.bytes }?.field : nil
  }

  /// Returns a text that is unique for the call, under which the answer is stored.
  func fingerprint() throws(UsherError) -> String {
    SHA256.hash(data: try StoreCoder.encode(self)).hexadecimal
  }
}

// Compares bytes: `==` of `String` is canonical equivalence, which would extend an approval to
// other bytes than those that the user was shown.
extension ConfirmCall: Hashable {
  private var texts: [[UInt8]?] {
    [
      client, method, provider, kind, account, scope, audience, target, operation, bodyDigest,
      summary, amount, payee,
    ].map { $0.map { Array($0.utf8) } }
  }

  static func == (one: ConfirmCall, other: ConfirmCall) -> Bool { one.texts == other.texts }

  func hash(into hasher: inout Hasher) { hasher.combine(texts) }
}

extension FlowStart {
  /// The person whom the provider asks to approve the sign-in, as the caller names the person; nil
  /// for other flows.
  fileprivate var askedPerson: String? {
    kind == OIDCBackchannel.kind ? params["loginHint"]?.stringValue : nil
  }

  /// The call to the provider's API that the flow makes: `METHOD:/path`, with the query.
  fileprivate var operationWithQuery: String? {
    guard operation != nil, let method = params["method"]?.stringValue,
      let path = params["path"]?.stringValue
    else { return nil }
    return "\(method):\(path)"
  }
}

/// A question that waits for a user's answer, and the program whose call caused it.
struct OpenQuestion: Codable, Sendable, Equatable {
  let id: ConfirmationID
  let realm: String
  let uid: UInt32
  let unit: String?
  let executable: String?
  let call: ConfirmCall
  let askedAt: Timestamp
  let expiresAt: Timestamp

  /// The user as which the asking program runs.
  var person: LocalPerson { LocalPerson(realm: realm, uid: uid) }

  /// Whether the question can be answered at a time. It cannot if the wall clock was set back to
  /// before `askedAt`.
  func isOpen(at now: Timestamp) -> Bool { askedAt <= now && now < expiresAt }
}

/// A person's remembered answer to the question whether a client may make a call.
struct RememberedAnswer: Codable, Sendable, Equatable {
  /// How long a single-use answer is valid: an approval for the one call that it allows, a refusal
  /// for all equal calls.
  static let onceAllowed = Duration.seconds(300)
  static let onceRefused = Duration.seconds(60)

  let question: OpenQuestion
  let allow: Bool
  let remember: Remember
  let at: Timestamp
  /// The client program through which the person answered.
  let client: String
  let uid: UInt32

  /// The time until which the answer is valid; nil if it is valid until the daemon stops or is
  /// locked.
  var expiresAt: Timestamp? {
    switch remember {
    case .once: at + (allow ? Self.onceAllowed : Self.onceRefused)
    case .session: nil
    case .seconds(let seconds): at + .seconds(seconds)
    }
  }

  /// Whether the answer is stored on disk, so that it stays valid after a restart of the daemon.
  var isStored: Bool {
    switch remember {
    case .seconds: true
    case .once, .session: false
    }
  }

  /// Whether the answer is valid at a time. It is not if the wall clock was set back to before
  /// `at`.
  func isValid(at now: Timestamp) -> Bool {
    guard let expiresAt else { return true }
    return at <= now && now < expiresAt
  }

  func hasExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

// Conversion between answers and database rows.
extension RememberedAnswer {
  init(_ row: ConfirmationRow) throws(UsherError) { self = try row.payload.decoded() }

  /// Returns the row that stores the answer; nil if the answer is not stored on disk.
  func row() throws(UsherError) -> ConfirmationRow? {
    guard isStored, let expiresAt else { return nil }
    return ConfirmationRow(
      realm: question.realm, uid: question.uid, client: question.call.client,
      question: try question.call.fingerprint(), expiresAt: expiresAt,
      payload: try SealedPayload(encoding: self))
  }

  func deletion() throws(UsherError) -> Change {
    .deleteConfirmation(
      realm: question.realm, uid: question.uid, client: question.call.client,
      question: try question.call.fingerprint())
  }
}

// MARK: - Permission to answer

/// The condition under which a caller may answer a question about a client's call.
enum ConfirmRight {
  case unconditional
  /// The user of the caller must have proved presence at this machine (by passcode or finger) in a
  /// flow of the caller's client.
  case withProof
}

extension Caller {
  /// Returns the condition under which the caller may answer a question; nil if the caller must not
  /// learn that the question exists.
  func right(over question: OpenQuestion) -> ConfirmRight? {
    if isAdmin { return .unconditional }
    let asker = question.call.client
    if asker != client, policy.confirms.contains(asker) { return .unconditional }
    return question.person == person ? .withProof : nil
  }
}
