package import FoundationEssentials

/// A received request, for tests to count. It has no query, no body and no secret.
package struct LoggedRequest: Sendable, Equatable, Codable {
  package var number: Int
  /// The sandbox's time in seconds since 1970.
  package var time: Double
  package var endpoint: String
  package var method: String
  package var path: String
  package var grantType: String?
  package var clientID: String?
  /// The status of the response; nil if there is none yet or the connection was reset.
  package var status: Int?
  /// The OAuth error code of the response.
  package var error: String?
  /// The id of the fault rule that applied to the request.
  package var fault: String?
}

/// The most recent requests, oldest first.
package struct RequestLog: Sendable {
  /// The largest number of requests. The oldest tenth is dropped when the log is full.
  package static let limit = 10_000

  package private(set) var requests: [LoggedRequest] = []
  private var received = 0

  package init() {}

  /// Records the arrival of a request; returns its number for ``finish(_:status:error:)``.
  package mutating func begin(
    _ call: EndpointCall, endpoint: String, form: Form?, fault: String?, at time: Date
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

  /// Returns the requests that match both filters, oldest first; a nil filter matches all.
  package func matching(endpoint: String?, grantType: String?) -> [LoggedRequest] {
    requests.filter {
      (endpoint == nil || $0.endpoint == endpoint)
        && (grantType == nil || $0.grantType == grantType)
    }
  }
}
