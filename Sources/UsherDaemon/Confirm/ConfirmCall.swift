import Crypto
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore

/// A client's call as far as a person is asked about it: equal where the question is the same.
///
/// The operation belongs to it, with its body and what is shown of it: agreeing that a flow reads is
/// not agreeing that it pays, and agreeing to one payment is not agreeing to another.
struct ConfirmCall: Codable, Sendable {
  /// Bytes of all its texts; more is nothing that a person could judge.
  static let longest = 4096

  let client: String
  let method: String
  let provider: String?
  let kind: String?
  let account: String?
  /// The words in a fixed order: a scope is a set of them.
  let scope: String?
  /// `METHOD:/path`, with its query.
  let operation: String?
  /// SHA-256 of the body that the operation sends, in hexadecimal digits; nil without a body.
  let bodyDigest: String?
  // What the flow shows the person who approves the operation.
  let summary: String?
  let amount: String?
  let payee: String?

  /// - Parameter start: The flow that the call starts; nil for any other call.
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
    operation = start?.wholeOperation ?? request.operation
    let params = operation == nil ? nil : start?.params
    bodyDigest = params?["body"].flatMap { body in
      body.isNull ? nil : SHA256.hash(data: body.encoded()).hexDigits
    }
    let shown = params?["operation"]
    summary = shown?["summary"]?.stringValue
    amount = shown?["amount"]?.stringValue
    payee = shown?["payee"]?.stringValue
  }

  /// The parameter with the longest text, where all texts together are too long; else nil.
  var tooLongField: String? {
    let texts = [
      ("provider", provider), ("kind", kind), ("account", account), ("scope", scope),
      ("params.path", operation), ("params.operation.summary", summary),
      ("params.operation.amount", amount), ("params.operation.payee", payee),
    ].map { (field: $0, bytes: $1?.utf8.count ?? 0) }
    let all = client.utf8.count + method.utf8.count + texts.reduce(0) { $0 + $1.bytes }
    return all > Self.longest ? texts.max { $0.bytes < $1.bytes }?.field : nil
  }

  /// The same text for the same call, and for no other: the name of what is stored about it.
  func fingerprint() throws(UsherError) -> String {
    SHA256.hash(data: try StoreCoder.encode(self)).hexDigits
  }
}

// Two calls are one where all their bytes are: `==` of `String` is canonical equivalence, by which a
// person would have agreed to other bytes than were shown.
extension ConfirmCall: Hashable {
  private var texts: [[UInt8]?] {
    [
      client, method, provider, kind, account, scope, operation, bodyDigest, summary, amount, payee,
    ].map { $0.map { Array($0.utf8) } }
  }

  static func == (one: ConfirmCall, other: ConfirmCall) -> Bool { one.texts == other.texts }

  func hash(into hasher: inout Hasher) { hasher.combine(texts) }
}

extension SHA256Digest {
  fileprivate var hexDigits: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension FlowStart {
  /// `METHOD:/path` of the call of the provider's API that the flow is to make, with its query.
  fileprivate var wholeOperation: String? {
    guard operation != nil, let method = params["method"]?.stringValue,
      let path = params["path"]?.stringValue
    else { return nil }
    return "\(method):\(path)"
  }
}

/// A question that a person has to answer, and who asks.
struct OpenQuestion: Codable, Sendable, Equatable {
  let id: ConfirmationID
  let realm: String
  let uid: UInt32
  let unit: String?
  let executable: String?
  let call: ConfirmCall
  let askedAt: Timestamp
  let expiresAt: Timestamp

  /// The user whose program asks.
  var person: LocalPerson { LocalPerson(realm: realm, uid: uid) }

  /// A clock that is set back to before it was asked ends it, too.
  func isOpen(at now: Timestamp) -> Bool { askedAt <= now && now < expiresAt }
}

/// What a person said to a question, as long as it is remembered.
struct GivenAnswer: Codable, Sendable, Equatable {
  /// How long one that is given once holds: for the one call it allows, and for all that it refuses.
  static let onceAllowed = Duration.seconds(300)
  static let onceRefused = Duration.seconds(60)

  let question: OpenQuestion
  let allow: Bool
  let remember: Remember
  let at: Timestamp
  /// Whose connection it came by.
  let client: String
  let uid: UInt32

  /// Nil where it holds for the session.
  var expiresAt: Timestamp? {
    switch remember {
    case .once: at + (allow ? Self.onceAllowed : Self.onceRefused)
    case .session: nil
    case .seconds(let seconds): at + .seconds(seconds)
    }
  }

  /// Whether it outlives the daemon.
  var isStored: Bool {
    switch remember {
    case .seconds: true
    case .once, .session: false
    }
  }

  /// A clock that is set back to before it was given makes it worth nothing.
  func holds(at now: Timestamp) -> Bool {
    guard let expiresAt else { return true }
    return at <= now && now < expiresAt
  }

  func hasExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

// Rows.
extension GivenAnswer {
  init(_ row: ConfirmationRow) throws(UsherError) { self = try row.payload.decoded() }

  /// Nil where it is not to outlive the daemon.
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

// MARK: - Who may answer

/// What answering a question takes.
enum ConfirmRight {
  case freely
  /// The person has to have proved to be at this machine, in a flow of the same client.
  case withProof
}

extension Caller {
  /// - Returns: Nil where there is no such question for the caller.
  func right(over question: OpenQuestion) -> ConfirmRight? {
    if isAdmin { return .freely }
    let asker = question.call.client
    if asker != client, policy.confirms.contains(asker) { return .freely }
    return question.person == person ? .withProof : nil
  }
}
