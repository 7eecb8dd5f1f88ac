import Glibc
import UsherCore
import UsherStore

/// Copies the one account of a stopped daemon many times in its store, with its tokens, under other
/// ids and subjects.
struct AccountCopies {
  /// The number of accounts in the store afterwards, with the first one.
  let stored: Int
  /// The number of copies that have the owner of the first account.
  let own: Int

  /// The lowest uid of the other owners; each owns ten accounts.
  static let others: UInt32 = 200_000

  /// The number of accounts in one commit.
  private static let batch = 1000

  /// - Returns: The ids of the copies that have the owner of the first account.
  func write(to daemon: MeasuredDaemon) async throws -> [String] {
    let key = try Self.masterKey(daemon)
    let store = try Store.open(
      path: daemon.databasePath, masterKey: key, keyStorage: { PlainKey(bytes: Array($0)) },
      clock: SystemClock(), entropy: SystemEntropy(), blocking: CallingThread())
    guard let first = try store.accounts(.all, atMost: 1).first else {
      throw BenchError("there is no account to copy")
    }
    let original = try store.open(first)
    let (account, tokens) = (original.account, original.tokens)
    // Four tasks run in parallel, because sealing takes longer than writing.
    try await withThrowingTaskGroup(of: Void.self) { group in
      var next = 1
      for _ in 0..<4 {
        guard let range = Self.range(&next, stored) else { break }
        group.addTask { try await write(range, account, tokens, store) }
      }
      while try await group.next() != nil {
        guard let range = Self.range(&next, stored) else { continue }
        group.addTask { try await write(range, account, tokens, store) }
      }
    }
    try store.close()
    return (1..<max(2, min(stored, own + 1))).map { Self.id($0).rawValue }
  }

  private static func range(_ next: inout Int, _ end: Int) -> Range<Int>? {
    guard next < end else { return nil }
    defer { next = min(next + batch, end) }
    return next..<min(next + batch, end)
  }

  private func write(
    _ numbers: Range<Int>, _ account: AccountRow, _ tokens: [TokenRow], _ store: Store
  ) async throws {
    var changes: [Change] = []
    for number in numbers {
      var copy = account
      copy.id = Self.id(number)
      copy.subject = "\(account.subject)-\(number)"
      if number > own {
        let uid = Self.others + UInt32(number / 10)
        copy.owner = Owner(realm: account.owner.realm, uid: uid)
      }
      changes.append(.putAccount(copy))
      for token in tokens {
        var token = token
        token.account = copy.id
        changes.append(.putToken(token))
      }
    }
    try await store.commit(changes)
  }

  /// Returns an id like the daemon's: 26 characters of Crockford's base32, in no order.
  private static func id(_ number: Int) -> AccountID {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz")
    let halves = [mixed(UInt64(number) &* 2), mixed(UInt64(number) &* 2 &+ 1)]
    let letters = halves.flatMap { half in
      (0..<13).map { alphabet[Int(half >> UInt64(5 * $0) & 31)] }
    }
    return AccountID("acc_\(String(letters))")
  }

  /// Maps numbers one-to-one to scattered numbers (SplitMix64).
  private static func mixed(_ number: UInt64) -> UInt64 {
    var z = number &* 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  private static func masterKey(_ daemon: MeasuredDaemon) throws -> [UInt8] {
    let path = daemon.directory.file("state/master.key")
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 33)
    guard descriptor >= 0, read(descriptor, &bytes, bytes.count) == 32 else {
      throw BenchError("\(path) is not a master key")
    }
    return Array(bytes.prefix(32))
  }
}

/// The key of a database that is deleted after the measurement, kept in ordinary memory.
private struct PlainKey: HeldKey {
  let bytes: [UInt8]

  func withUnsafeBytes<Value, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let outcome = bytes.withUnsafeBytes { bytes in
      Result { () throws(Failure) in try body(bytes) }
    }
    return try outcome.get()
  }
}

/// Runs the store's transactions on the thread that asks for them. No other task needs that thread.
private struct CallingThread: BlockingPool {
  func start(_ body: @escaping @Sendable () -> Void) { body() }
}
