import JSONRPC
import UsherCore

extension HTTPRequest {
  /// Creates a request to a provider with a JSON body.
  ///
  /// - Parameter hiding: Secrets to mask if the provider's reply repeats them.
  static func json(
    _ method: Method, _ url: String, _ body: [String: JSONValue]?, _ headers: [Header],
    hiding secrets: [Secret] = [], resultCode: ResultCode? = nil
  ) -> HTTPRequest {
    let type = body.map { _ in [Header("Content-Type", public: "application/json")] } ?? []
    return HTTPRequest(
      method: method, url: url, headers: [.acceptJSON] + type + headers,
      body: body.map { Secret(String(decoding: JSONValue.object($0).encoded(), as: UTF8.self)) },
      secrets: secrets, resultCode: resultCode)
  }
}

extension HTTPReply {
  /// Creates the daemon's reply to a call that a provider made to it.
  static func json(
    _ status: Int, _ body: JSONValue, _ headers: [String: String] = [:]
  ) -> HTTPReply {
    HTTPReply(
      status: status, headers: headers.merging(["content-type": "application/json"]) { $1 },
      body: body.encoded())
  }
}
