/// What goes wrong with a request.
///
/// The parts combine where that makes sense: `held` and `delayMs` with everything, `status` with `body`.
package struct Fault: Sendable, Hashable, Codable {
  /// The request waits until the fault is deleted, for ``longestDelay`` at most.
  package var held: Bool?
  /// Milliseconds to wait first.
  package var delayMs: Int?
  /// The connection ends with a TCP reset and no answer.
  package var reset: Bool?
  /// This status instead of the handler's answer.
  package var status: Int?
  /// 200, `application/json`, and a body that ends in the middle of a member.
  package var brokenJSON: Bool?
  /// The handler's answer under another media type.
  package var contentType: String?
  /// Headers that the answer has besides or instead, such as `Retry-After`.
  package var headers: [String: String]?
  /// A JSON body of this many bytes.
  package var hugeBody: Int?
  /// The handler's answer, announced in full, half sent, then closed.
  package var halfBody: Bool?
  /// This JSON instead of the handler's answer.
  package var body: JSON?
  /// The request is carried out before its answer is spoiled: what was refreshed is refreshed.
  package var processed: Bool?

  package init() {}

  /// Bytes that `hugeBody` may ask for.
  package static let largestBody = 256 << 20
  /// Milliseconds that `delayMs` may ask for.
  package static let longestDelay = 600_000

  /// Why this cannot be done, or nil.
  package var objection: String? {
    if let delayMs, !(0...Self.longestDelay).contains(delayMs) {
      "delayMs is 0 to \(Self.longestDelay)"
    } else if let hugeBody, !(0...Self.largestBody).contains(hugeBody) {
      "hugeBody is 0 to \(Self.largestBody)"
    } else if let status, !(200...599).contains(status) {
      "status is 200 to 599"
    } else if let headers, !headers.allSatisfy({ $0.isHeaderName && $1.isHeaderValue }) {
      "headers are names and printable values"
    } else if self == Fault() {
      "fault names nothing to go wrong"
    } else {
      nil
    }
  }
}

/// When a fault strikes.
package struct FaultRule: Sendable, Hashable, Codable {
  /// An endpoint's name, `*` for each.
  package var endpoint: String
  /// Only requests of this `grant_type`.
  package var grantType: String?
  package var fault: Fault
  /// How often it strikes; nil until it is cleared.
  package var times: Int?
  /// How many requests that fit pass unharmed before.
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

/// The rules in force. The oldest one that fits and is due strikes; it alone.
package struct FaultTable: Sendable {
  /// The most rules at a time.
  package static let limit = 100

  package struct Entry: Sendable, Equatable {
    package let id: String
    package var rule: FaultRule
  }

  package private(set) var entries: [Entry] = []
  private var added = 0

  package init() {}

  /// Nil when the table is full.
  package mutating func add(_ rule: FaultRule) -> String? {
    guard entries.count < Self.limit else { return nil }
    added += 1
    let id = "flt_\(added)"
    entries.append(Entry(id: id, rule: rule))
    return id
  }

  /// False when there was none of that id.
  package mutating func remove(_ id: String) -> Bool {
    let before = entries.count
    entries.removeAll { $0.id == id }
    return entries.count < before
  }

  package mutating func removeAll() {
    entries.removeAll()
  }

  /// What happens to the request that comes now.
  package mutating func strike(_ endpoint: String, grantType: String?) -> Entry? {
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
  /// A token (RFC 9110 §5.6.2), without its rarer characters.
  fileprivate var isHeaderName: Bool {
    !isEmpty && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
  }

  fileprivate var isHeaderValue: Bool { utf8.allSatisfy { (0x20..<0x7F).contains($0) } }
}
