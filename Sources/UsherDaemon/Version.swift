/// The version of usherd, as `rpc.hello`, `usherd --version` and the OpenRPC document report it.
package enum Version {
  package static let current = "0.1.1"
}
