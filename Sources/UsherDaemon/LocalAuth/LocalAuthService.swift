import Logging
import NIOCore
import Synchronization
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Authenticates the machine's users by passcode and fingerprint.
///
/// A failed scan is stored before it is reported, and a passcode attempt is stored before it is
/// checked: killing the daemon does not undo the count of an attempt.
final class LocalAuthService: Sendable {
  /// How long the fingerprint reader waits for a finger.
  static let scanLimit = Duration.seconds(30)

  let dependencies: Dependencies
  private let repository: LocalAuthRepository
  private let reader: any FingerprintScanning
  private let memory = LocalAuthMemory()
  private let rounds: Int
  /// Limits log entries about the reader. Each `localAuth.status` queries the reader, and callers
  /// must not be able to fill the journal that way.
  private let readerNotices: RepeatedNotice
  private enum Computation { case hash }

  /// Limits passcode hashing to one at a time, because each takes 32 MiB of memory.
  private let computations = AsyncKeyedLock<Computation>()

  init(
    dependencies: Dependencies, repository: LocalAuthRepository, reader: any FingerprintScanning,
    rounds: Int = PasscodeHash.defaultRounds
  ) {
    self.dependencies = dependencies
    self.repository = repository
    self.reader = reader
    readerNotices = RepeatedNotice(dependencies.clock)
    self.rounds = rounds
  }

  func restore() throws(UsherError) { try repository.restore() }

  /// Returns the user's last proofs of presence in a client's flows since the daemon's start.
  func proofs(of person: LocalPerson, to client: String) -> [LocalAuthProof] {
    let (now, monotonic) = (dependencies.clock.now(), dependencies.clock.monotonicNow())
    return memory.proofs(of: person, to: client).map { proof in
      LocalAuthProof(
        method: proof.method, at: now - (monotonic - proof.at), insteadOf: proof.insteadOf)
    }
  }

  /// Deletes what usherd has for the local authentication of a user: the passcode, the attempt
  /// counters, the digest of the enrolled fingers (the enrolment itself stays in fprintd), and the
  /// memory of recent authentications.
  func deleteAll(of person: LocalPerson) async throws(UsherError) {
    try await repository.deleteRecord(of: person)
    memory.removeProofs(of: person)
  }

  private func recordProof(
    _ method: LocalAuthType, insteadOf wanted: LocalAuthType? = nil, _ person: LocalPerson,
    _ client: String?
  ) {
    guard let client else { return }
    let proof = LocalAuthProof(
      method: method, at: dependencies.clock.monotonicNow(), insteadOf: wanted)
    memory.record(proof, of: person, to: client)
  }

  /// Returns the name by which fprintd knows the user.
  ///
  /// - Throws: A ``ReaderObstacle`` if the user has no name or cannot be looked up.
  private func readerUser(_ person: LocalPerson) async throws(ReaderObstacle) -> String {
    switch await dependencies.lookups.user(person.uid) {
    case .named(let name): return name
    case .nameless: throw .unavailable("this user has no name")
    case .failed: throw .unavailable("the user database does not answer")
    }
  }
}

// MARK: - Fingers

extension LocalAuthService {
  /// Returns the methods by which a user can authenticate, without a fingerprint scan.
  ///
  /// - Parameter asker: The asker whose saved fingers are compared with the enrolled ones.
  func availability(
    of person: LocalPerson, for asker: LocalAuthAsker = .init()
  ) async -> (LocalAuthAvailability, fingers: Int?) {
    let fingers = await Result(awaiting: { () async throws(ReaderObstacle) in
      try await self.fingers(of: person)
    })
    let now = dependencies.clock.now()
    var record = repository.record(of: person, at: now)
    let hasChanged = hasChanged(try? fingers.get(), record, asker)
    let biometric: LocalAuthAvailability.Biometric =
      switch fingers {
      case .failure(let error): .init(error)
      case .success(let names):
        if names.isEmpty {
          .notEnrolled
        } else if let until = record.fingers.lockedUntil(at: now) {
          .lockedOut(until: until)
        } else {
          .ready(hasChanged: hasChanged)
        }
      }
    let count = (try? fingers.get())?.count
    var availability = LocalAuthAvailability(biometric: biometric, passcode: passcode(of: person))
    availability.hasChangedFingers = hasChanged
    return (availability, count)
  }

  private func hasChanged(
    _ names: [String]?, _ record: LocalAuthRecord, _ asker: LocalAuthAsker
  ) -> Bool {
    guard let names, !names.isEmpty, let saved = record.domainState(of: asker) else { return false }
    return saved != DomainState(fingers: names)
  }

  /// Saves the currently enrolled fingers, so that an asker's later scans can detect a change.
  func saveFingers(of person: LocalPerson, for asker: LocalAuthAsker) async {
    guard let names = try? await fingers(of: person) else { return }
    let problem = await changing(person, onFailure: Optional.some) { record -> String? in
      record.save(DomainState(fingers: names), for: asker)
      return nil
    }
    if let problem {
      dependencies.log.warning("the enrolled fingers could not be saved: \(problem)")
    }
  }

  private func fingers(of person: LocalPerson) async throws(ReaderObstacle) -> [String] {
    let user = try await readerUser(person)
    do throws(FingerprintError) {
      return try await reader.enrolledFingers(of: user)
    } catch {
      log(error, person)
      throw ReaderObstacle(error) ?? .unavailable("the daemon is stopping")
    }
  }

  /// Scans any of the user's fingers once.
  ///
  /// - Parameters:
  ///   - client: The client whose flow asks, for which a success is remembered; nil: the success is
  ///     not remembered.
  ///   - provider: The provider of that flow.
  ///   - comparing: Whether a match counts only if the enrolled fingers are the saved ones.
  /// - Returns: Nil if the task was cancelled before there was a verdict.
  func scan(
    _ person: LocalPerson, for client: String? = nil,
    at provider: ProviderName = ProviderConfig.local.name, comparing: Bool = false,
    onHint: @escaping @Sendable (String) -> Void
  ) async -> ScanOutcome? {
    let now = dependencies.clock.now()
    var record = repository.record(of: person, at: now)
    if let until = record.fingers.lockedUntil(at: now) { return .lockedOut(until: until) }
    let user: String
    do throws(ReaderObstacle) { user = try await readerUser(person) } catch {
      return ScanOutcome(error)
    }
    do throws(FingerprintError) {
      let verdict = try await reader.verify(user: user, within: Self.scanLimit) {
        onHint($0.rawValue)
      }
      switch verdict {
      case .match:
        let asker = LocalAuthAsker(client: client, purpose: provider)
        let outcome = await matched(person, user, asker, comparing: comparing)
        // A cancelled scan reports no outcome, so it is no proof of presence.
        if outcome == .matched, !Task.isCancelled { recordProof(.biometric, person, client) }
        return outcome
      case .noMatch: return await missed(person)
      }
    } catch {
      log(error, person)
      return ReaderObstacle(error).map { ScanOutcome($0) }
    }
  }

  /// Logs the problems of the fingerprint reader that an operator must fix.
  private func log(_ problem: FingerprintError, _ person: LocalPerson) {
    let cause: String
    switch problem {
    case .notPermitted(let message): cause = "not permitted: \(message)"
    case .unavailable(let message): cause = message
    case .unplugged: cause = "it was unplugged"
    case .noReader, .notEnrolled, .inUse, .cancelled, .timedOut: return
    }
    guard let count = readerNotices.due() else { return }
    dependencies.log.notice(
      "the fingerprint reader cannot be used",
      metadata: [
        "client": .string("uid \(person.uid)"), "cause": .string(cause), "count": "\(count)",
      ])
  }

  private func matched(
    _ person: LocalPerson, _ user: String, _ asker: LocalAuthAsker, comparing: Bool
  ) async -> ScanOutcome {
    // Read after the match, because a finger may have been enrolled while the reader waited.
    let fingers = try? await reader.enrolledFingers(of: user)
    return await changing(person, onFailure: ScanOutcome.unavailable) { record in
      if comparing, let saved = record.domainState(of: asker) {
        guard let fingers else { return .unavailable("the enrolled fingers cannot be read") }
        guard saved == DomainState(fingers: fingers) else { return .changed }
      }
      record.fingers = AttemptCount()
      if let fingers, asker.savesEachSuccess || record.domainState(of: asker) == nil {
        record.save(DomainState(fingers: fingers), for: asker)
      }
      return .matched
    }
  }

  private func missed(_ person: LocalPerson) async -> ScanOutcome {
    let now = dependencies.clock.now()
    return await changing(person, onFailure: ScanOutcome.unavailable) { record in
      record.fingers.recordFailure(at: now)
      guard let until = record.fingers.lockedUntil(at: now) else { return .missed }
      memory.removeProofs(of: person)
      return .lockedOut(until: until)
    }
  }

  /// Changes a user's record and returns the outcome when the change is on disk.
  private func changing<Outcome: Sendable>(
    _ person: LocalPerson, onFailure unavailable: (String) -> Outcome,
    _ change: (inout LocalAuthRecord) -> Outcome
  ) async -> Outcome {
    do throws(UsherError) {
      return try await repository.personLock.withLock(person) { () throws(UsherError) in
        var record = repository.record(of: person, at: dependencies.clock.now())
        let outcome = change(&record)
        try await repository.persist(record, of: person)
        return outcome
      }
    } catch {
      return unavailable("attempts cannot be counted: \(error.message)")
    }
  }
}

// MARK: - Passcodes

extension LocalAuthService {
  func passcode(of person: LocalPerson) -> LocalAuthAvailability.Passcode {
    let now = dependencies.clock.now()
    var record = repository.record(of: person, at: now)
    guard record.passcode != nil else { return .notEnrolled }
    return record.passcodes.lockedUntil(at: now).map { .lockedOut(until: $0) } ?? .ready
  }

  /// Checks one attempt at the passcode. The attempts of a user are checked one after the other.
  ///
  /// - Parameters:
  ///   - client: The client whose flow asks, for which a success is remembered; nil: the success is
  ///     not remembered.
  ///   - wanted: The method that the passcode replaces; nil if the flow asks for the passcode
  ///     itself.
  func check(
    _ passcode: Secret, of person: LocalPerson, for client: String? = nil,
    insteadOf wanted: LocalAuthType? = nil
  ) async -> PasscodeOutcome {
    do throws(UsherError) {
      return try await repository.personLock.withLock(person) { () throws(UsherError) in
        let outcome = try await guess(passcode, of: person)
        // Remembered while the lock is held: once the passcode has been changed, the old passcode
        // must not count as a proof.
        if outcome == .accepted { recordProof(.passcode, insteadOf: wanted, person, client) }
        return outcome
      }
    } catch {
      return .unavailable("the passcode cannot be checked: \(error.message)")
    }
  }

  /// Sets a user's passcode.
  ///
  /// - Parameters:
  ///   - old: The current passcode, which counts as an attempt; nil if there is none.
  ///   - isReset: Whether an operator sets the new passcode, so that the current one is not
  ///     required.
  func setPasscode(
    _ new: Secret, old: Secret?, isReset: Bool, of person: LocalPerson
  ) async throws(UsherError) -> PasscodeChange {
    try await repository.personLock.withLock(person) { () throws(UsherError) in
      if !isReset {
        let exists = repository.record(of: person, at: dependencies.clock.now()).passcode != nil
        if let old {
          let outcome = try await guess(old, of: person)
          guard outcome == .accepted else { return .refused(outcome) }
        } else if exists {
          return .oldIsNeeded
        }
      }
      let salt = dependencies.entropy.bytes(PasscodeHash.saltLength)
      let hash = try await compute { [rounds] () throws(UsherError) in
        try PasscodeHash(new, salt: salt, rounds: rounds)
      }
      var record = repository.record(of: person, at: dependencies.clock.now())
      record.passcode = hash
      record.passcodes = AttemptCount()
      try await repository.persist(record, of: person)
      memory.removeProofs(of: person)
      return .done
    }
  }

  /// Checks one attempt and stores its count. Must be called while holding the user's lock.
  private func guess(
    _ passcode: Secret, of person: LocalPerson
  ) async throws(UsherError) -> PasscodeOutcome {
    let now = dependencies.clock.now()
    var record = repository.record(of: person, at: now)
    guard let hash = record.passcode else { return .notEnrolled }
    if let until = record.passcodes.lockedUntil(at: now) { return .lockedOut(until: until) }
    // The attempt is counted before the check, so that killing the daemon does not undo the count.
    record.passcodes.recordFailure(at: now)
    try await repository.persist(record, of: person)
    FailPoint.reach("local-auth.before-check")
    let isRight = try await compute { () throws(UsherError) in try hash.accepts(passcode) }
    guard isRight else {
      guard let until = record.passcodes.lockedUntil(at: now) else {
        return .wrong(attemptsLeft: record.passcodes.left)
      }
      // Another person may be at the machine now, so earlier proofs of presence no longer count.
      memory.removeProofs(of: person)
      return .lockedOut(until: until)
    }
    record.passcodes = AttemptCount()
    record.fingers = AttemptCount()
    try await repository.persist(record, of: person)
    return .accepted
  }

  private func compute<Value: Sendable>(
    _ body: @escaping @Sendable () throws(UsherError) -> Value
  ) async throws(UsherError) -> Value {
    try await computations.withLock(.hash) { () async throws(UsherError) in
      try await dependencies.computing.run(body)
    }
  }
}

/// The result of a request to set a passcode.
enum PasscodeChange: Equatable {
  case done
  /// A passcode is set already, and the request did not contain it.
  case oldIsNeeded
  /// The old passcode was not accepted. Carries the verdict, which is never `accepted`.
  case refused(PasscodeOutcome)
}

extension LocalAuthAvailability.Biometric {
  fileprivate init(_ obstacle: ReaderObstacle) {
    self =
      switch obstacle {
      case .noReader: .noReader
      case .notEnrolled: .notEnrolled
      case .unavailable(let sentence): .unavailable(sentence)
      case .timedOut: .unavailable("the fingerprint reader does not answer")
      }
  }
}

extension ScanOutcome {
  fileprivate init(_ obstacle: ReaderObstacle) {
    self =
      switch obstacle {
      case .noReader: .noReader
      case .notEnrolled: .notEnrolled
      case .unavailable(let sentence): .unavailable(sentence)
      case .timedOut: .timedOut
      }
  }
}
