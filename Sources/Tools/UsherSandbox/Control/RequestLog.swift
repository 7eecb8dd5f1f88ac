package import FoundationEssentials

/// A request that came in: what a test counts. Never a secret, and never a query or a body.
package struct LoggedRequest: Sendable, Equatable, Codable {
  package var number: Int
  /// Seconds since 1970 by the sandbox's clock.
  package var time: Double
  package var endpoint: String
  package var method: String
  package var path: String
  package var grantType: String?
  package var clientID: String?
  /// Absent while the request is under way, and where the connection was reset.
  package var status: Int?
  /// The OAuth error of the answer.
  package var error: String?
  /// The fault that struck it.
  package var fault: String?
}

/// The last requests, oldest first.
package struct RequestLog: Sendable {
  /// The most requests it remembers.
  package static let limit = 10_000

  package private(set) var requests: [LoggedRequest] = []
  private var received = 0

  package init() {}

  /// Notes a request's arrival; the number is for ``finish(_:status:error:)``.
  package mutating func begin(
    _ call: Call, endpoint: String, form: Form?, fault: String?, at time: Date
  ) -> Int {
    received += 1
    if requests.count == Self.limit { requests.removeFirst(Self.limit / 10) }
    requests.append(
      LoggedRequest(
        number: received, time: time.timeIntervalSince1970, endpoint: endpoint,
        method: call.method.rawValue, path: call.path, grantType: form?["grant_type"],
        clientID: form?["client_id"], fault: fault))
    return received
  }

  package mutating func finish(_ number: Int, status: Int?, error: String?) {
    guard let index = requests.lastIndex(where: { $0.number == number }) else { return }
    requests[index].status = status
    requests[index].error = error
  }

  package mutating func removeAll() {
    requests.removeAll()
  }

  /// Those that fit, oldest first.
  package func matching(endpoint: String?, grantType: String?) -> [LoggedRequest] {
    requests.filter {
      (endpoint == nil || $0.endpoint == endpoint)
        && (grantType == nil || $0.grantType == grantType)
    }
  }
}
