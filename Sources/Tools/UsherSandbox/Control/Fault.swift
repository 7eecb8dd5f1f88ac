/// A fault that is injected into a request.
///
/// `held`, `delayMs` and `processed` combine with all other members. `contentType`, `headers` and
/// `halfBody` change any response except `reset` and `hugeBody`. `status` also sets the status of
/// `body` and `brokenJSON`.
package struct Fault: Sendable, Hashable, Codable {
  /// The request waits until the fault is deleted, for ``longestDelay`` at most.
  package var held: Bool?
  /// Milliseconds to wait before the response; for a `held` request, after its release.
  package var delayMs: Int?
  /// The connection ends with a TCP reset and without a response.
  package var reset: Bool?
  /// The status of an error that replaces the handler's response.
  package var status: Int?
  /// The response is `application/json` and its body ends in the middle of a member.
  package var brokenJSON: Bool?
  /// The media type of the response, in place of its own.
  package var contentType: String?
  /// Headers to add to the response or to replace in it, such as `Retry-After`.
  package var headers: [String: String]?
  /// The size in bytes of a JSON body that replaces the response.
  package var hugeBody: Int?
  /// `Content-Length` announces the whole body, but the connection closes after half of it.
  package var halfBody: Bool?
  /// JSON that replaces the handler's response.
  package var body: JSON?
  /// The handler runs first, so that its effects, such as a refresh, remain.
  package var processed: Bool?

  package init() {}

  /// The largest `hugeBody`, in bytes.
  package static let largestBody = 256 << 20
  /// The largest `delayMs`, in milliseconds.
  package static let longestDelay = 600_000

  /// Why this fault is invalid, or nil if it is valid.
  package var validationError: String? {
    if let delayMs, !(0...Self.longestDelay).contains(delayMs) {
      "delayMs must be 0 to \(Self.longestDelay)"
    } else if let hugeBody, !(0...Self.largestBody).contains(hugeBody) {
      "hugeBody must be 0 to \(Self.largestBody)"
    } else if let status, !(200...599).contains(status) {
      "status must be 200 to 599"
    } else if let headers, !headers.allSatisfy({ $0.isHeaderName && $1.isHeaderValue }) {
      "headers must have valid names and printable values"
    } else if self == Fault() {
      "fault is empty: set at least one member, such as status"
    } else {
      nil
    }
  }
}

/// The requests that a fault applies to.
package struct FaultRule: Sendable, Hashable, Codable {
  /// The name of an endpoint, or `*` for all.
  package var endpoint: String
  /// If set, the fault applies only to requests with this `grant_type`.
  package var grantType: String?
  package var fault: Fault
  /// How many requests the fault still applies to; nil: all until it is deleted.
  package var times: Int?
  /// How many matching requests to let pass first.
  package var after: Int?

  package init(
    endpoint: String, grantType: String? = nil, fault: Fault, times: Int? = nil, after: Int? = nil
  ) {
    self.endpoint = endpoint
    self.grantType = grantType
    self.fault = fault
    self.times = times
    self.after = after
  }

  func fits(_ endpoint: String, _ grantType: String?) -> Bool {
    (self.endpoint == endpoint || self.endpoint == "*")
      && (self.grantType == nil || self.grantType == grantType)
  }
}

/// The active fault rules. At most one applies to a request: the oldest that matches and is due.
package struct FaultTable: Sendable {
  /// The largest number of rules.
  package static let limit = 100

  package struct Entry: Sendable, Equatable {
    package let id: String
    package var rule: FaultRule
  }

  package private(set) var entries: [Entry] = []
  private var added = 0

  package init() {}

  /// Adds a rule and returns its id; nil if the table is full.
  package mutating func add(_ rule: FaultRule) -> String? {
    guard entries.count < Self.limit else { return nil }
    added += 1
    let id = "flt_\(added)"
    entries.append(Entry(id: id, rule: rule))
    return id
  }

  /// Removes a rule; returns false if there is no rule with this id.
  package mutating func remove(_ id: String) -> Bool {
    let before = entries.count
    entries.removeAll { $0.id == id }
    return entries.count < before
  }

  package mutating func removeAll() {
    entries.removeAll()
  }

  /// Returns the rule for a request. Counts the request in each matching rule up to that one.
  package mutating func nextFault(_ endpoint: String, grantType: String?) -> Entry? {
    for index in entries.indices where entries[index].rule.fits(endpoint, grantType) {
      if let after = entries[index].rule.after, after > 0 {
        entries[index].rule.after = after - 1
        continue
      }
      let entry = entries[index]
      if let times = entry.rule.times {
        if times <= 1 { entries.remove(at: index) } else { entries[index].rule.times = times - 1 }
      }
      return entry
    }
    return nil
  }
}

extension String {
  /// Whether this is a token of letters, digits, `-` and `_`, a subset of RFC 9110 §5.6.2.
  fileprivate var isHeaderName: Bool {
    !isEmpty && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
  }

  fileprivate var isHeaderValue: Bool { utf8.allSatisfy { (0x20..<0x7F).contains($0) } }
}
