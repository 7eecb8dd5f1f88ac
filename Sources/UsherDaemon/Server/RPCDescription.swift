package import JSONRPC
import UsherAPI
import UsherFlows

/// The description of the daemon's RPC methods, as `rpc.discover` returns it.
package enum RPCDescription {
  /// The OpenRPC document. Each access creates the document again.
  package static var document: JSONValue {
    OpenRPC.document(
      version: Version.current, methods: Methods.all, flows: ProviderRegistry.descriptions)
  }

  /// The OpenRPC document as one line of JSON.
  package static var text: String { String(decoding: document.encoded(), as: UTF8.self) }
}
