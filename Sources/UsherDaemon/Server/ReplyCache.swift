import Glibc
import UsherCore

/// What one connection remembers of its calls of `token.get`, by the bytes of their params: only a
/// call that went the ordinary way once, with the same bytes, has an answer here.
///
/// It holds tokens: it is emptied when the daemon is locked, and of what was not asked for.
struct ReplyCache {
  static let most = 8
  /// Bytes of params; what has more is decided each time.
  static let longest = 512

  /// What is not the accounts' but makes answers others: of the settings and of the lock.
  struct Epoch: Equatable {
    let settings: Int
    let lockController: Int
  }

  private final class Answer {
    let params: [UInt8]
    /// Of the line that it was last asked by; nil where there is none to go by.
    var shape: LineShape?
    let reply: [UInt8]
    private let epoch: Epoch
    private let moments: ClosedRange<Timestamp>
    private let repository: AccountRepository
    private let accounts: Int
    private let audit: any Auditing
    // As what a connection has of every call.
    @exclusivity(unchecked) private var call: AuditRepeat

    init(
      _ standing: CachedReply, _ decision: CachedReply.Decision, to params: [UInt8],
      in epoch: Epoch
    ) {
      self.params = params
      self.epoch = epoch
      reply = standing.reply
      moments = standing.moments
      repository = standing.repository
      accounts = decision.accounts
      audit = decision.audit
      call = decision.call
    }

    /// Takes another call down, where the reply stands yet.
    ///
    /// - Returns: Whether it may be given.
    func isGiven(in epoch: Epoch, at now: Timestamp) -> Bool {
      epoch == self.epoch && moments.contains(now) && repository.generation == accounts
        && audit.again(&call, at: now)
    }
  }

  private var answers: [Answer] = []
  private var isUsed = false

  var isEmpty: Bool { answers.isEmpty }

  /// The same for a line that is like one before but for its id, with that id as it stands there: such
  /// a line is not read again.
  mutating func reply(
    toLine line: UnsafeRawBufferPointer, in epoch: Epoch, at now: @autoclosure () -> Timestamp
  ) -> (result: [UInt8], id: UnsafeRawBufferPointer)? {
    for index in answers.indices {
      let answer = answers[index]
      guard let id = answer.shape?.id(in: line) else { continue }
      return give(index, in: epoch, at: now()).map { ($0, id) }
    }
    return nil
  }

  /// The reply to a call with these params, which is noted as served; nil where it is to be decided.
  ///
  /// - Parameter shape: Of the call's line.
  mutating func reply(
    to params: UnsafeRawBufferPointer, by shape: @autoclosure () -> LineShape? = nil,
    in epoch: Epoch, at now: Timestamp
  ) -> [UInt8]? {
    for index in answers.indices where answers[index].params.isEqual(to: params) {
      if let shape = shape() { answers[index].shape = shape }
      return give(index, in: epoch, at: now)
    }
    return nil
  }

  private mutating func give(_ index: Int, in epoch: Epoch, at now: Timestamp) -> [UInt8]? {
    let answer = answers[index]
    guard answer.isGiven(in: epoch, at: now) else {
      answers.remove(at: index)
      return nil
    }
    isUsed = true
    return answer.reply
  }

  /// - Parameter epoch: Of before the call was decided.
  mutating func remember(
    _ standing: CachedReply, to params: UnsafeRawBufferPointer, in epoch: Epoch
  ) {
    guard let decision = standing.decision, params.count <= Self.longest else { return }
    answers.removeAll { $0.params.isEqual(to: params) }
    if answers.count == Self.most { answers.removeFirst() }
    answers.append(Answer(standing, decision, to: Array(params), in: epoch))
    isUsed = true
  }

  mutating func forget() { answers = [] }

  /// Forgets all where none was given since this was last asked.
  ///
  /// - Returns: Whether there are any left.
  mutating func forgetUnused() -> Bool {
    if !isUsed { forget() }
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
