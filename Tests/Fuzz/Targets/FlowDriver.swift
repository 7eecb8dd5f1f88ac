import CryptoExtras
import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Drives a flow with the events that the lines of an input describe, and checks it after each.
struct FlowDriver<Machine: FlowMachine> {
  private var machine: Machine
  private var now = Timestamp(seconds: 1_800_000_000)
  /// The latest call to the provider that the flow has requested.
  private var call: Machine.Call?
  /// The secrets that no text for people may contain.
  private var secrets: [String]
  private let entropy = CountedEntropy()

  init(_ state: FlowStates.Stored) throws {
    machine = try StoreCoder.decode(Machine.self, from: state.bytes)
    secrets = state.secrets + [Self.credential, Self.accessToken, Self.clientToken]
  }

  private static var credential: String { "client-credential-secret" }
  private static var accessToken: String { "account-token-secret" }
  private static var clientToken: String { "daemon-token-secret" }

  /// Returns the event that a line describes; nil if the engine would not pass it to the flow.
  ///
  /// A line is a reply to the flow's latest call (``ReplyLine``), or a word with its value:
  /// `after SECONDS`, `input JSON`, `redirected QUERY`, `listening URL`, `metadata JSON`,
  /// `verified PAYLOAD`, `called-back BODY`, or a word of ``plainEvent(_:)``.
  mutating func event(_ line: [UInt8]) -> FlowEvent<Machine.Call>? {
    if let reply = ReplyLine(line[...]) {
      return call.map { .provider(.called($0, outcome(of: $0, reply.reply))) }
    }
    let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
    let value = parts.count > 1 ? Array(parts[1]) : []
    switch parts.first.map({ Array($0).text }) {
    case "after":
      now = now + .seconds(Int(value.text.prefix(9)) ?? 0)
      return .woken
    case "input":
      guard let json = try? JSONValue(parsing: value), let input = try? FlowInput(json),
        input.kind == machine.view.step.kind
      else { return nil }
      return .input(input)
    case "redirected":
      let result = RedirectParseResult(query: "state=s&" + value.text, state: Secret("s"))
      guard case .accepted(let response) = result else { return nil }
      return .browser(.redirected(response))
    case "listening": return .browser(.listening(redirectURI: value.text))
    case "metadata":
      guard let settings = machine.provider.settings as? OIDCSettings,
        let document = try? JSONValue(parsing: value)
      else { return nil }
      let discovery = OIDCMetadata.read(documents: [document], settings: settings)
      return .provider(.discovered(discovery))
    case "verified": return .provider(.idTokenVerified(.genuine(payload: value)))
    case "called-back":
      let dialect = machine.provider.config.definition.callback
      guard var callback = try? dialect?.read(authorization: nil, body: value) else { return nil }
      callback.isAuthenticated = true
      return .provider(.calledBack(callback))
    case let word: return plainEvent(word ?? "")
    }
  }

  private func plainEvent(_ word: String) -> FlowEvent<Machine.Call>? {
    let lost: [String: CallOutcome] = [
      "sent": .unreachable(message: "no reply", sent: true),
      "unsent": .unreachable(message: "no connection", sent: false),
      "unreadable": .unreadable(message: "the reply is too large"),
      "no-token": .noToken(message: "a new sign-in is needed"),
    ]
    if let outcome = lost[word] { return call.map { .provider(.called($0, outcome)) } }
    let available = LocalAuthAvailability(biometric: .noReader, passcode: .ready)
    let answers: [String: DaemonAnswer] = [
      "stored": .stored(AccountID("acc_1")), "present": .presence(true), "gone": .presence(false),
      "consents": .consents([]), "available": .localAuth(.availability(available)),
      "accepted": .localAuth(.checked(.accepted)), "scanned": .localAuth(.scanned(.matched)),
      "totp": .oneTimeCode(.code(Secret("482613"), until: now + .seconds(30))),
      "no-totp": .oneTimeCode(.noSecret),
    ]
    if let answer = answers[word] { return .daemon(.answered(answer)) }
    switch word {
    case "resumed": return .daemon(.resumed)
    case "woken": return .woken
    case "unlistenable": return .browser(.listenFailed("the port is in use"))
    case "forged": return .provider(.idTokenVerified(.refused(message: "the signature is wrong")))
    case "keyless": return .provider(.idTokenVerified(.keyless(message: "there are no keys")))
    default: return nil
    }
  }

  /// Returns the outcome of a call, as the daemon reports it: without the secrets of the request.
  private mutating func outcome(of call: Machine.Call, _ reply: HTTPReply) -> CallOutcome {
    let provider = machine.provider
    var credentials: [String: Secret] = [:]
    for name in provider.config.definition.credentialNames {
      let plain = Secret(Self.credential)
      let isFlawed = provider.config.definition.flaw(of: plain, named: name) != nil
      credentials[name] = isFlawed ? signingKey : plain
    }
    let context = RenderContext(
      provider: provider, credential: Secret(Self.credential), credentials: credentials,
      accessToken: Secret(Self.accessToken), clientToken: Secret(Self.clientToken),
      transition: TransitionContext(now: now, entropy: entropy))
    do throws(UsherError) {
      let request = try call.render(context)
      var masked = reply.withoutByteOrderMark.withoutEchoes(of: request)
      if masked.headers["retry-after"] != nil { masked.receivedAt = now }
      // A reply that is no error is not masked: the flow may show what the provider showed.
      let texts = masked.texts + masked.headers.values
      secrets.removeAll { secret in texts.contains { $0.contains(secret) } }
      return .reply(masked)
    } catch {
      return .unreachable(message: error.message, sent: false)
    }
  }

  /// Delivers an event and checks the answer.
  ///
  /// - Returns: Whether the flow continues.
  mutating func receive(_ event: FlowEvent<Machine.Call>) throws -> Bool {
    let before = machine
    var context = TransitionContext(now: now, entropy: entropy)
    switch machine.receive(event, at: &context) {
    case .ignore:
      try require(machine == before, "an ignored event changes the flow")
    case .refuse(_, let message):
      try require(machine == before, "a refused event changes the flow")
      try requireShowable(message, without: secrets, "the refusal")
      guard case .input = event else {
        throw PropertyViolation(description: "an event that is no input is refused")
      }
    case .proceed(let effects):
      for case .call(let call) in effects { self.call = call }
      try checkStoredForm()
      try checkView()
    case .fail(let failure, cleanUp: _):
      try check(failure)
      return false
    case .finish(let completion):
      let result = JSONValue.object(completion.result).texts.joined(separator: "\n")
      for secret in secrets where result.contains(secret) {
        throw PropertyViolation(description: "the result has the secret \(secret): \(result)")
      }
      return false
    }
    return true
  }

  private func check(_ failure: Failure) throws {
    try require(!failure.title.isEmpty && !failure.message.isEmpty, "the failure has no text")
    for text in [failure.title, failure.message] {
      try requireShowable(text, without: secrets, "the failure")
    }
    try check(failure.provider)
  }

  private func check(_ code: ProviderErrorCode?) throws {
    for text in [code?.code, code?.error, code?.title, code?.message] {
      try requireShowable(text, without: secrets, "the provider's error")
    }
  }

  private func checkStoredForm() throws {
    let stored = try StoreCoder.encode(machine)
    let read = try StoreCoder.decode(Machine.self, from: stored)
    try require(try StoreCoder.encode(read) == stored, "the flow changes when it is stored")
  }

  private func checkView() throws {
    let view = machine.view
    try require(!view.state.isEmpty, "the view has no state")
    if let problem = view.problem {
      try requireShowable(problem.title, without: secrets, "the problem")
      try requireShowable(problem.message, without: secrets, "the problem")
      try check(problem.provider)
    }
    switch view.step {
    case .openURL(let step):
      try require(
        step.url.hasPrefix("https://") || step.url.hasPrefix("http://"), "the page is \(step.url)")
    // The app receives this step's secrets.
    case .exchangeCredential: break
    case .displayCode, .enterCode, .enterPassword, .choose, .fillForm, .consent, .localAuth, .wait:
      let json = try JSONValue(parsing: [UInt8](JSONEncoder().encode(view.step)))
      for text in json.texts { try requireShowable(text, without: secrets, "the step") }
    }
  }
}

/// A key that signs requests to GoPay. Nothing depends on its value.
private let signingKey: Secret = {
  guard let key = try? _RSA.Signing.PrivateKey(keySize: .bits2048) else { return Secret("") }
  return Secret(key.pkcs8PEMRepresentation)
}()

/// Counts 1, 2, 3, … so that every run draws the same bytes.
final class CountedEntropy: Entropy, @unchecked Sendable {
  private var last: UInt8 = 0

  func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in
      last &+= 1
      return last
    }
  }
}
