/// Version in `rpc.hello`, `usherd --version` and the OpenRPC document.
package enum Version {
  package static let current = "0.1.1"
}
