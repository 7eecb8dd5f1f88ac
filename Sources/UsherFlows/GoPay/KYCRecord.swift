import JSONRPC
import UsherCore

/// The last known status of the user's submission. It is stored as the account attribute `kyc`.
struct KYCRecord: Equatable {
  static let attribute = "kyc"

  let requestID: String
  let submissionID: String
  private(set) var status: Status
  private(set) var result: KYCStatus.Result?
  private(set) var reasonCode: String?
  let submittedAt: Timestamp
  private(set) var updatedAt: Timestamp

  /// The status of a submission. The order of the cases is the order in which they can follow each
  /// other: ERROR may become COMPLETED, which is final.
  enum Status: String, CaseIterable, Comparable {
    /// The user has submitted, and GoPay has not reported a status yet. Only the daemon uses this
    /// status.
    case submitted = "SUBMITTED"
    case initiated = "INITIATED"
    case inProgress = "IN_PROGRESS"
    case error = "ERROR"
    case completed = "COMPLETED"

    static func < (left: Status, right: Status) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  init(_ requestID: String, submitted submissionID: String, at now: Timestamp) {
    self.requestID = requestID
    self.submissionID = submissionID
    status = .submitted
    submittedAt = now
    updatedAt = now
  }

  init(_ requestID: String, _ reported: KYCStatus, at now: Timestamp) {
    self.init(requestID, submitted: reported.submissionID, at: now)
    status = reported.status
    result = reported.result
    reasonCode = reported.reasonCode
  }

  /// Returns the record updated by a reported status; nil if that is about another submission, or
  /// not newer.
  func updated(by reported: KYCStatus, at now: Timestamp) -> KYCRecord? {
    guard Secret(reported.submissionID) == Secret(submissionID), reported.status > status else {
      return nil
    }
    // COMPLETED is final, so it is not recorded without its result.
    if reported.status == .completed, reported.result == nil { return nil }
    var record = self
    record.status = reported.status
    record.result = reported.result
    record.reasonCode = reported.reasonCode
    record.updatedAt = now
    return record
  }
}

extension KYCRecord {
  /// Reads the record from the value of an account attribute; nil if a member is missing or
  /// invalid.
  init?(_ json: JSONValue?) {
    guard let requestID = json?["requestId"]?.stringValue,
      let submissionID = json?["submissionId"]?.stringValue,
      let status = json?["status"]?.stringValue.flatMap(Status.init(rawValue:)),
      let submittedAt = json?["submittedAt"]?.stringValue.flatMap(Timestamp.init(rfc3339:)),
      let updatedAt = json?["updatedAt"]?.stringValue.flatMap(Timestamp.init(rfc3339:))
    else { return nil }
    self.requestID = requestID
    self.submissionID = submissionID
    self.status = status
    result = json?["result"]?.stringValue.flatMap(KYCStatus.Result.init(rawValue:))
    reasonCode = json?["reasonCode"]?.stringValue
    self.submittedAt = submittedAt
    self.updatedAt = updatedAt
  }

  var json: JSONValue {
    [
      "requestId": .string(requestID), "submissionId": .string(submissionID),
      "status": .string(status.rawValue),
      "result": result.map { .string($0.rawValue) } ?? .null,
      "reasonCode": reasonCode.map { .string($0) } ?? .null,
      "submittedAt": .string(submittedAt.description), "updatedAt": .string(updatedAt.description),
    ]
  }

  /// The members that a flow's result contains in addition to the id of the submission.
  var metadata: [String: JSONValue] {
    var members: [String: JSONValue] = ["status": .string(status.rawValue)]
    members["result"] = result.map { .string($0.rawValue) }
    members["reasonCode"] = reasonCode.map { .string($0) }
    return members
  }
}

extension ProviderCallback {
  /// Returns whether a call by GoPay is about this submission. Without a valid credential, the
  /// sender cannot find out whether the ids in the call match.
  ///
  /// - Parameter token: The user's linking token, if it is known.
  func verdict(requestID: String, submissionID: String, token: Secret?) -> CallbackVerdict {
    guard let expected = self.requestID, Secret(expected) == Secret(requestID) else {
      return .noMatch
    }
    let isTheirs = token.map { !$0.isEmpty && $0 == authorization } ?? false
    guard isAuthenticated || isTheirs else { return .unauthorized }
    guard let id = members["submissionId"]?.stringValue, Secret(id) == Secret(submissionID) else {
      return .conflict
    }
    return .match
  }
}
