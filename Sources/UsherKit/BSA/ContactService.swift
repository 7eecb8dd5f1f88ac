import Synchronization
import UsherClient

/// Sends and verifies OTP numbers. Each contact has one flow `verifyContact` at the daemon.
///
/// The daemon is asked for the flow of a contact. The data in this object only serves comparisons,
/// and may be lost.
final class ContactService: Sendable {
  private static let kind = "verifyContact"

  private struct Cache {
    /// The app data with which this process started the flow of a contact, by the contact's key.
    /// The daemon has accepted the data.
    var apps: [String: App] = [:]
    /// The OTP number of a contact whose verification this process has begun without learning the
    /// result, with its flow, by the contact's key.
    var unanswered: [String: (flow: FlowID, number: Secret)] = [:]
    /// The channel of the contact that a disposeToken was issued for.
    var types: [Secret: BSA.APICaller.OTPSendType] = [:]
  }

  /// The app data in a call of the BSA SDK. The daemon compares them with its configuration.
  struct App: Sendable, Equatable {
    var clientKey: Secret
    var bundleIdentifier: String
  }

  private let provider: ProviderClient
  private let locks = AsyncKeyedLock<String>()
  private let cache = Mutex(Cache())

  init(_ provider: ProviderClient) { self.provider = provider }
}

// MARK: - Requesting an OTP number

extension ContactService {
  /// Sends an OTP number to a contact. If the contact has a pending one, sends another.
  func request(_ contact: ContactTarget, _ app: App, _ log: BSALog) async throws {
    try await locks.withLock(contact.key) {
      try Task.checkCancellation()
      var flow: Flow
      if let session = try await activeFlow(contact) {
        flow = try await resend(session, contact, app, log)
        // The flow sends no more numbers, by the operator's limit; another flow does.
        if flow.problem?.reason == "sent_enough" {
          await session.cancelIgnoringErrors()
          flow = try await begin(contact, app, log)
        }
      } else {
        flow = try await begin(contact, app, log)
      }
      guard try flow.requireNoFailure().step?.kind == .enterCode else {
        throw KitError(.unexpected, "usherd asks for a step other than entering a number")
      }
      if let problem = flow.problem { throw BSAError(problem) }
    }
  }

  private func begin(_ contact: ContactTarget, _ app: App, _ log: BSALog) async throws -> Flow {
    await log("a number is requested for \(contact.masked)")
    let session = try await provider.begin(
      Self.kind,
      [
        "sendType": .string(contact.type.rawValue), "sendTarget": .string(contact.target),
        "clientKey": .string(app.clientKey.revealed()),
        "bundleIdentifier": .string(app.bundleIdentifier),
      ])
    let flow = try await session.cancelOnTaskCancellation {
      try await session.waitUntil(\.isSettled)
    }
    await log.states(session, since: 0, at: provider.client)
    if !flow.status.isFinished { cache.withLock { $0.apps[contact.key] = app } }
    return flow
  }

  private func resend(
    _ session: FlowSession, _ contact: ContactTarget, _ app: App, _ log: BSALog
  ) async throws -> Flow {
    try compare(contact, app)
    let first = session.flow.revision
    let wasBeingSent = session.flow.state == "sending"
    // A cancelled task stops waiting. The OTP number that was sent before stays valid.
    var flow = try await session.waitUntil(\.isSettled)
    // If the daemon was already sending an OTP number, this call does not request another one.
    if !wasBeingSent {
      await log("another number is requested for \(contact.masked)")
      flow = try await session.answer(.resend, to: flow)
    }
    try Task.checkCancellation()
    await log.states(session, since: first, at: provider.client)
    return flow
  }

  /// Checks that a call has the same app data as the call that started the contact's flow.
  ///
  /// - Throws: ``BSAError`` if the data differ.
  private func compare(_ contact: ContactTarget, _ app: App) throws {
    guard let known = cache.withLock({ $0.apps[contact.key] }), known != app else { return }
    throw Self.otherApp
  }

  private static let otherApp = BSAError.failed(
    rtCode: BSACode.clientKeyUnknown,
    message: "the number was requested with another clientKey or bundleIdentifier")

  private func activeFlow(_ contact: ContactTarget) async throws -> FlowSession? {
    try await provider.newestFlow(Self.kind, key: contact.key) { !$0.status.isFinished }
  }
}

// MARK: - Verifying an OTP number

extension ContactService {
  /// Verifies the OTP number that the person typed.
  ///
  /// - Returns: The disposeToken for the sign-up; nil if the OTP number is wrong.
  func verify(
    _ contact: ContactTarget, _ number: Secret, clientKey: Secret, _ log: BSALog
  ) async throws -> String? {
    try await locks.withLock(contact.key) {
      try Task.checkCancellation()
      guard let session = try await activeFlow(contact) else {
        if let token = try await lateToken(contact, number) { return token }
        throw KitError(.nothingWaiting, "no number was requested: request one first")
      }
      await log("a number of \(contact.masked) is verified")
      let first = session.flow.revision
      do {
        // A cancelled task stops waiting: the number stays valid until the server has accepted it.
        let seen = try await session.waitUntil(\.isSettled)
        // The daemon compares the key, because this process may not have requested the number.
        let input = FlowInput.code(number, fields: ["clientKey": clientKey])
        cache.withLock { $0.unanswered[contact.key] = (session.id, number) }
        let flow = try await session.answer(input, to: seen)
        cache.withLock { $0.unanswered[contact.key] = nil }
        try Task.checkCancellation()
        await log.states(session, since: first, at: provider.client)
        return try disposeToken(flow, contact.type)
      } catch let error as UsherError where error.reason == .invalidInput {
        if error.detail.field == "input.fields.clientKey" { throw Self.otherApp }
        cache.withLock { $0.unanswered[contact.key] = nil }
        // A malformed OTP number is reported to the program like a wrong one.
        await log("the number is malformed")
        return nil
      }
    }
  }

  /// Returns the disposeToken that came after the call that verified this OTP number had ended
  /// without an answer; nil if there is none.
  private func lateToken(_ contact: ContactTarget, _ number: Secret) async throws -> String? {
    guard let known = cache.withLock({ $0.unanswered[contact.key] }), known.number == number
    else { return nil }
    let flow = try await provider.client.session(of: known.flow).flow
    return flow.status == .succeeded ? try disposeToken(flow, contact.type) : nil
  }

  private func disposeToken(
    _ flow: Flow, _ type: BSA.APICaller.OTPSendType
  ) throws -> String? {
    if let problem = flow.problem {
      if problem.reason == "wrong_code" { return nil }
      throw BSAError(problem)
    }
    guard let token = try flow.requireNoFailure().result?["disposeToken"]?.stringValue else {
      throw KitError(.unexpected, "the verification ended without a disposeToken")
    }
    cache.withLock { $0.types[Secret(token)] = type }
    return token
  }

  /// Returns the channel of the contact for which a sign-up's disposeToken was issued; nil if
  /// unknown.
  func verifiedType(_ data: BSA.SignUpData.UserData) async throws
    -> BSA.APICaller.OTPSendType?
  {
    if let type = cache.withLock({ $0.types[Secret(data.disposeToken)] }) { return type }
    for type in BSA.APICaller.OTPSendType.allCases {
      let flow = try await provider.newestFlow(
        Self.kind, key: data.contact(type).key, status: .succeeded
      ) { $0.result?["disposeToken"]?.stringValue == data.disposeToken }
      if flow != nil { return type }
    }
    return nil
  }
}

extension BSAError {
  /// Creates the error for an OTP number that was not sent or not verified.
  fileprivate init(_ problem: Problem) {
    var error = KitError(problem)
    if problem.reason == "code_expired" { error.kind = .expired }
    self.init(error)
  }
}
