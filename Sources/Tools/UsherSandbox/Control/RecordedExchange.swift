/// A request and its response as they were on the wire, with their secrets, for tests that search
/// for the secrets where they must not be.
package struct RecordedExchange: Sendable, Equatable, Codable {
  package var endpoint: String
  /// The percent-encoded query, without the question mark.
  package var query: String
  package var authorization: String?
  /// The header `DPoP` (RFC 9449 §4.1).
  package var proof: String?
  package var body: String
  package var status: Int
  /// The header `Location` of the response.
  package var location: String?
  package var reply: String

  init(_ call: EndpointCall, to endpoint: Endpoint, _ reply: Reply) {
    self.endpoint = endpoint.name
    query = call.query
    authorization = call.headers["authorization"]
    proof = call.headers["dpop"]
    body = String(decoding: call.body, as: UTF8.self)
    status = reply.status
    location = reply.headers["Location"]
    self.reply = String(decoding: reply.body, as: UTF8.self)
  }
}

/// The exchanges since the last call of ``start()``. Nothing is recorded before the first one.
package struct ExchangeRecorder: Sendable {
  /// The largest number of exchanges. Later ones are not recorded.
  package static let limit = 1000

  package private(set) var exchanges: [RecordedExchange] = []
  private var isRecording = false

  package init() {}

  package mutating func start() {
    exchanges = []
    isRecording = true
  }

  mutating func record(_ call: EndpointCall, to endpoint: Endpoint, _ delivery: Delivery) {
    guard isRecording, exchanges.count < Self.limit, case .complete(let reply) = delivery else {
      return
    }
    exchanges.append(RecordedExchange(call, to: endpoint, reply))
  }
}
