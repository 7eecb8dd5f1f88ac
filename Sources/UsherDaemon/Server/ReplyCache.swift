import UsherCore

import func Glibc.memcmp

/// The replies to `token.get` and `token.forTarget` that one connection has received, by the method
/// and the bytes of the params. A call can be answered from here only if a call of the same method
/// with the same bytes was decided by the policy before.
///
/// The cache contains tokens: it is emptied when the daemon is locked, and when it has not been
/// used for a while.
struct ReplyCache {
  static let maxEntries = 8
  /// The maximum length of params in bytes. Calls with longer params are decided each time.
  static let maxParamsBytes = 512

  /// The configuration and lock generations on which a cached reply depends.
  struct Epoch: Equatable {
    let settings: Int
    let lock: Int
  }

  /// The methods whose replies are cached.
  enum CachedMethod: CaseIterable {
    case tokenGet
    case tokenForTarget

    var name: StaticString {
      switch self {
      case .tokenGet: "token.get"
      case .tokenForTarget: "token.forTarget"
      }
    }
  }

  private final class Entry {
    let method: CachedMethod
    let params: [UInt8]
    /// The shape of the last line with these params; nil if a line has no recognizable shape.
    var shape: LineShape?
    let reply: [UInt8]
    private let epoch: Epoch
    private let validity: ClosedRange<Timestamp>
    private let repository: AccountRepository
    private let accounts: Int
    private let audit: AuditRecorder
    // Unchecked for the same reason as the state in ``ConnectionHandler`` that every call accesses:
    // accesses never overlap, and the run-time check would cost too much.
    @exclusivity(unchecked) private var call: AuditRepeat

    init(
      _ cached: CachedReply, _ decision: CachedReply.Decision, to method: CachedMethod,
      _ params: [UInt8], in epoch: Epoch
    ) {
      self.method = method
      self.params = params
      self.epoch = epoch
      reply = cached.reply
      validity = cached.validity
      repository = cached.repository
      accounts = decision.accounts
      audit = decision.audit
      call = decision.call
    }

    func answers(_ method: CachedMethod, _ params: UnsafeRawBufferPointer) -> Bool {
      self.method == method && self.params.isEqual(to: params)
    }

    /// Records one more call in the audit log if the reply is still valid.
    ///
    /// - Returns: Whether the reply may be sent.
    func recordUse(in epoch: Epoch, at now: Timestamp) -> Bool {
      epoch == self.epoch && validity.contains(now) && repository.generation == accounts
        && audit.recordRepeat(&call, at: now)
    }
  }

  private var entries: [Entry] = []
  private var isUsed = false

  var isEmpty: Bool { entries.isEmpty }

  /// Returns the reply for a line that equals an earlier line except for its id, and the bytes of
  /// the id in the line. Such a line is not parsed again.
  mutating func reply(
    toLine line: UnsafeRawBufferPointer, in epoch: Epoch, at now: @autoclosure () -> Timestamp
  ) -> (result: [UInt8], id: UnsafeRawBufferPointer)? {
    for index in entries.indices {
      let entry = entries[index]
      guard let id = entry.shape?.id(in: line) else { continue }
      return use(index, in: epoch, at: now()).map { ($0, id) }
    }
    return nil
  }

  /// Returns the reply for a call with these params and records the call in the audit log; nil if
  /// the policy must decide about the call.
  ///
  /// - Parameter shape: The shape of the call's line, by which the next such line is recognized.
  mutating func reply(
    to method: CachedMethod, _ params: UnsafeRawBufferPointer,
    by shape: @autoclosure () -> LineShape? = nil,
    in epoch: Epoch, at now: Timestamp
  ) -> [UInt8]? {
    for index in entries.indices where entries[index].answers(method, params) {
      if let shape = shape() { entries[index].shape = shape }
      return use(index, in: epoch, at: now)
    }
    return nil
  }

  private mutating func use(_ index: Int, in epoch: Epoch, at now: Timestamp) -> [UInt8]? {
    let entry = entries[index]
    guard entry.recordUse(in: epoch, at: now) else {
      entries.remove(at: index)
      return nil
    }
    isUsed = true
    return entry.reply
  }

  /// Caches a reply.
  ///
  /// - Parameter epoch: The generations from before the call was decided.
  mutating func insert(
    _ cached: CachedReply, to method: CachedMethod, _ params: UnsafeRawBufferPointer,
    in epoch: Epoch
  ) {
    guard let decision = cached.decision, params.count <= Self.maxParamsBytes else { return }
    entries.removeAll { $0.answers(method, params) }
    if entries.count == Self.maxEntries { entries.removeFirst() }
    entries.append(Entry(cached, decision, to: method, Array(params), in: epoch))
    isUsed = true
  }

  mutating func removeAll() { entries = [] }

  /// Empties the cache if no reply was used since the last call of this method. Called about once a
  /// minute.
  ///
  /// - Returns: Whether the cache still contains replies.
  mutating func removeUnused() -> Bool {
    if !isUsed { removeAll() }
    isUsed = false
    return !isEmpty
  }
}

extension [UInt8] {
  fileprivate func isEqual(to bytes: UnsafeRawBufferPointer) -> Bool {
    guard count == bytes.count else { return false }
    guard let start = bytes.baseAddress else { return true }
    return withUnsafeBytes { own in
      own.baseAddress.map { memcmp($0, start, own.count) == 0 } ?? true
    }
  }
}
