import Synchronization
import UsherClient

/// Makes the calls of ``BSA`` to the daemon, for one configuration of ``BSA``.
final class BSAService: Sendable {
  let provider: ProviderClient
  let prompt: (any BSA.LocalAuth.Prompt)?
  let contacts: ContactService
  private let storedRegistration = Mutex<BSA.Registration?>(nil)

  init(provider: String, socketPath: String?, prompt: (any BSA.LocalAuth.Prompt)?) {
    self.provider = ProviderClient(provider, socketPath: socketPath)
    self.prompt = prompt
    contacts = ContactService(self.provider)
  }

  /// The registration that this object received last from the daemon; nil before that.
  private(set) var lastRegistration: BSA.Registration? {
    get { storedRegistration.withLock { $0 } }
    set { storedRegistration.withLock { $0 = newValue } }
  }
}

// MARK: - Checks

extension BSAService {
  func isDuplicate(
    _ data: String, _ type: BSA.Enums.VerifyType, _ log: BSALog
  ) async throws -> Bool {
    await log("calls \(RegistrationCheckDuplicate.name) for \(ContactTarget.masked(data))")
    let check = RegistrationCheckDuplicate(
      provider: provider.name, verifyType: type.apiValue, verifyData: data)
    return try await provider.client.call(check).duplicate
  }

  func isAvailable(_ userKey: String, _ log: BSALog) async throws -> Bool {
    await log("calls \(RegistrationCheckUserKey.name)")
    let check = RegistrationCheckUserKey(provider: provider.name, userKey: userKey)
    return try await provider.client.call(check).available
  }
}

// MARK: - Registration

extension BSAService {
  func signUp(_ data: BSA.SignUpData.UserData, _ log: BSALog) async throws {
    let type = try await contacts.verifiedType(data)
    await log(
      "signs up with \(ContactTarget.masked(data.email)), \(ContactTarget.masked(data.phoneNumber))"
    )
    let session = try await provider.begin("register", data.params(verifiedBy: type))
    let flow = try await session.cancelOnTaskCancellation {
      let flow = try await session.waitUntil(\.isSettled)
      guard let step = flow.step else { return flow }
      // The fingerprint reader waits already: a finger may have signed the person up before the
      // flow was cancelled.
      guard let end = await session.cancelIgnoringErrors() else {
        throw KitError(.unavailable, "usherd cannot be reached: the person may be registered")
      }
      if end.status == .succeeded { return end }
      guard case .localAuth = step else {
        throw KitError(.unexpected, "usherd asks for a step that the SDK does not support")
      }
      throw BSAError.failed(
        rtCode: BSACode.localAuthFailed, message: "local authentication is required first")
    }
    await log.states(session, since: 0, at: provider.client)
    lastRegistration = try BSA.Registration(try flow.requireNoFailure(), data)
    // The person is registered, but BSA sent no usable secret for one-time codes.
    if let problem = flow.result?["totpProblem"]?.stringValue { await log(problem) }
  }

  @discardableResult
  func refresh() async throws -> BSA.Registration? {
    let list = AccountList(provider: provider.name)
    return store(try await provider.client.call(list).accounts)
  }

  /// The time within which the daemon must answer a `load` call.
  private static let loadLimit = Duration.seconds(1)

  /// Returns the registration that this object received last. If there is none, asks the daemon and
  /// blocks the thread for at most ``loadLimit``; nil if the daemon does not answer.
  func savedRegistration() -> BSA.Registration? {
    if let known = lastRegistration { return known }
    let list = AccountList(provider: provider.name)
    guard let reply = try? provider.client.callBlocking(list, within: Self.loadLimit) else {
      return nil
    }
    return store(reply.accounts)
  }

  private func store(_ accounts: [Account]) -> BSA.Registration? {
    let registrations = accounts.sorted { $0.createdAt > $1.createdAt }.map { BSA.Registration($0) }
    let own = registrations.first { $0.account == lastRegistration?.account }
    lastRegistration = own ?? registrations.first
    return lastRegistration
  }
}
