import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherCore

/// Converts between the types of the RPC contract and their JSON.
enum ReplyCoding {
  static func encode(_ value: some Encodable) throws -> [UInt8] {
    Array(try JSONEncoder().encode(value))
  }

  static func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws -> T {
    try JSONDecoder().decode(type, from: Data(bytes))
  }
}

extension UsherError {
  /// Creates the error from an error reply: by `data.reason` if it is present, else by the JSON-RPC
  /// code.
  init(_ error: ResponseError) {
    let data = error.data.flatMap {
      try? ReplyCoding.decode(ErrorData.self, from: $0.encoded())
    }
    if let data {
      self = data.error(message: error.message)
    } else {
      let reason = Reason.allCases.first { $0.code == error.code } ?? .internalError
      self.init(reason, error.message)
    }
  }
}
