import Glibc
import UsherCore

/// What one connection remembers of its calls of `token.get`, by the bytes of their params: only a
/// call that went the ordinary way once, with the same bytes, has an answer here.
///
/// It holds tokens: it is emptied when the daemon is locked, and of what was not asked for.
struct ConnectionAnswers {
  static let most = 8
  /// Bytes of params; what has more is decided each time.
  static let longest = 512

  /// What is not the accounts' but makes answers others: of the settings and of the lock.
  struct Epoch: Equatable {
    let settings: Int
    let safe: Int
  }

  private struct Answer {
    let params: [UInt8]
    let epoch: Epoch
    var standing: StandingReply
  }

  private var answers: [Answer] = []
  private var isUsed = false

  var isEmpty: Bool { answers.isEmpty }

  /// The reply to a call with these params, which is noted as served; nil where it is to be decided.
  mutating func reply(
    to params: UnsafeRawBufferPointer, in epoch: Epoch, at now: Timestamp
  ) -> [UInt8]? {
    guard let index = answers.firstIndex(where: { $0.params.isEqual(to: params) }) else {
      return nil
    }
    guard answers[index].epoch == epoch, answers[index].standing.isGiven(at: now) else {
      answers.remove(at: index)
      return nil
    }
    isUsed = true
    return answers[index].standing.reply
  }

  /// - Parameter epoch: Of before the call was decided.
  mutating func remember(
    _ standing: StandingReply, to params: UnsafeRawBufferPointer, in epoch: Epoch
  ) {
    guard standing.decision != nil, params.count <= Self.longest else { return }
    answers.removeAll { $0.params.isEqual(to: params) }
    if answers.count == Self.most { answers.removeFirst() }
    answers.append(Answer(params: Array(params), epoch: epoch, standing: standing))
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
