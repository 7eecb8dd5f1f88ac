import UsherAPI
import UsherCore
import UsherSystem

/// The open questions and the valid answers about client calls, of all users.
///
/// Reads no clock and publishes no events; ``ConfirmationService`` does both.
struct ConfirmationStore: Sendable {
  /// The decision about a call that needs a user's agreement.
  enum Decision: Equatable {
    case agreed
    case refused
    /// A question about the call is open and waits for an answer.
    case asked(OpenQuestion, isNew: Bool)
    /// A question must be asked, but the user has reached the limit of open questions. `until` is
    /// when the first of them expires.
    case full(until: Timestamp)
  }

  /// The result of looking up a question by its id.
  enum Lookup: Equatable {
    case open(OpenQuestion)
    case answered(OpenQuestion)
  }

  private struct PersonEntries {
    var questions: [ConfirmCall: OpenQuestion] = [:]
    var answers: [ConfirmCall: RememberedAnswer] = [:]
    /// Answered questions that have not expired, so that a second answer throws `conflict`.
    var answered: [OpenQuestion] = []

    var isEmpty: Bool { questions.isEmpty && answers.isEmpty && answered.isEmpty }
  }

  /// The maximum number of answered questions that are remembered for a user.
  private static let answeredLimit = 256

  private var entries = SharedLimits<LocalPerson, PersonEntries>()

  /// Decides about a call. A single-use answer that allows it is consumed. If there is neither an
  /// open question nor a valid answer about the call, a question is opened.
  ///
  /// - Parameters:
  ///   - users: Tells which subordinate ids share a user's limits.
  ///   - question: Returns the question to open.
  /// - Returns: The decision, and the expired question about the call that the new one replaces.
  mutating func decide(
    on call: ConfirmCall, of person: LocalPerson, at now: Timestamp, limit: Int,
    _ users: SubordinateUsers, asking question: () -> OpenQuestion
  ) -> (decision: Decision, replaced: OpenQuestion?) {
    if let answer = entries[person]?.answers[call], answer.isValid(at: now) {
      guard answer.allow else { return (.refused, nil) }
      if answer.remember == .once { entries[person]?.answers[call] = nil }
      return (.agreed, nil)
    }
    if let question = entries[person]?.questions[call], question.isOpen(at: now) {
      return (.asked(question, isNew: false), nil)
    }
    let others = entries.sharing(with: person, users).flatMap(\.questions.values).filter {
      $0.isOpen(at: now) && ($0.call != call || $0.person != person)
    }
    guard others.count < limit else {
      return (.full(until: others.map(\.expiresAt).min() ?? now), nil)
    }
    let new = question()
    let replaced = entries[person, or: PersonEntries()].questions.updateValue(new, forKey: call)
    return (.asked(new, isNew: true), replaced)
  }

  func find(_ id: ConfirmationID, at now: Timestamp) -> Lookup? {
    for entry in entries.values.values {
      if let question = entry.questions.values.first(where: { $0.id == id }) {
        return question.isOpen(at: now) ? .open(question) : nil
      }
      if let question = entry.answered.first(where: { $0.id == id }) { return .answered(question) }
    }
    return answer(id, at: now).map { .answered($0.question) }
  }

  func answer(_ id: ConfirmationID, at now: Timestamp) -> RememberedAnswer? {
    for entry in entries.values.values {
      if let answer = entry.answers.values.first(where: { $0.question.id == id }) {
        return answer.isValid(at: now) ? answer : nil
      }
    }
    return nil
  }

  /// Returns the person's remembered answer about a call, even if it has expired; nil without one.
  func answer(to call: ConfirmCall, of person: LocalPerson) -> RememberedAnswer? {
    entries[person]?.answers[call]
  }

  /// Returns the number of remembered answers, to calls other than `call`, of all users who share
  /// the user's limits.
  ///
  /// - Parameter users: Tells which subordinate ids share a user's limits.
  mutating func answers(
    of person: LocalPerson, otherThan call: ConfirmCall, _ users: SubordinateUsers
  ) -> Int {
    let count = entries.sharing(with: person, users).map(\.answers.count).reduce(0, +)
    return count - (entries[person]?.answers[call] == nil ? 0 : 1)
  }

  /// Remembers a person's answer and closes the question.
  mutating func record(_ answer: RememberedAnswer) {
    let question = answer.question
    restore(answer)
    guard var entry = entries[question.person] else { return }
    if entry.questions[question.call]?.id == question.id { entry.questions[question.call] = nil }
    entry.answered.append(question)
    if entry.answered.count > Self.answeredLimit { entry.answered.removeFirst() }
    entries[question.person] = entry
  }

  mutating func restore(_ answer: RememberedAnswer) {
    entries[answer.question.person, or: PersonEntries()].answers[answer.question.call] = answer
  }

  /// Removes a remembered answer; returns whether there was one.
  mutating func remove(_ answer: RememberedAnswer) -> Bool {
    let question = answer.question
    guard entries[question.person]?.answers[question.call]?.question.id == question.id else {
      return false
    }
    entries[question.person]?.answers[question.call] = nil
    return true
  }

  /// Removes all questions and answers of a user.
  ///
  /// - Returns: The questions that were open, and the removed answers that are on disk.
  mutating func removeAll(of person: LocalPerson) -> (
    open: [OpenQuestion], stored: [RememberedAnswer]
  ) {
    let entry = entries[person] ?? PersonEntries()
    entries[person] = nil
    return (Array(entry.questions.values), entry.answers.values.filter(\.isStored))
  }

  /// Removes a question that was not answered in time.
  ///
  /// - Returns: The question; nil if it was no longer open.
  mutating func expire(_ question: OpenQuestion) -> OpenQuestion? {
    guard entries[question.person]?.questions[question.call]?.id == question.id else { return nil }
    entries[question.person]?.questions[question.call] = nil
    return question
  }

  /// Removes expired questions and answers from memory.
  ///
  /// - Returns: The expired questions, and whether an expired answer is still on disk.
  mutating func prune(at now: Timestamp) -> (expired: [OpenQuestion], isStale: Bool) {
    var expired: [OpenQuestion] = []
    var isStale = false
    for (person, before) in entries.values {
      var entry = before
      expired += entry.questions.values.filter { !$0.isOpen(at: now) }
      entry.questions = entry.questions.filter { $0.value.isOpen(at: now) }
      isStale = isStale || entry.answers.values.contains { $0.isStored && $0.hasExpired(at: now) }
      entry.answers = entry.answers.filter { !$0.value.hasExpired(at: now) }
      entry.answered = entry.answered.filter { $0.isOpen(at: now) }
      entries[person] = entry.isEmpty ? nil : entry
    }
    return (expired, isStale)
  }

  /// Returns the open questions, the oldest first.
  func questions(at now: Timestamp) -> [OpenQuestion] {
    entries.values.values.flatMap(\.questions.values).filter { $0.isOpen(at: now) }
      .sorted { ($0.askedAt, $0.id.rawValue) < ($1.askedAt, $1.id.rawValue) }
  }

  /// Returns the valid answers, the oldest first.
  func answers(at now: Timestamp) -> [RememberedAnswer] {
    entries.values.values.flatMap(\.answers.values).filter { $0.isValid(at: now) }
      .sorted { ($0.at, $0.question.id.rawValue) < ($1.at, $1.question.id.rawValue) }
  }
}
