package calllog

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkTypes(t *testing.T) { // C82
	for magic, want := range map[uint32]bool{
		unix.NFS_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.FUSE_SUPER_MAGIC: true, unix.V9FS_MAGIC: true,
		unix.EXT4_SUPER_MAGIC: false, unix.TMPFS_MAGIC: false, unix.XFS_SUPER_MAGIC: false, unix.BTRFS_SUPER_MAGIC: false, unix.OVERLAYFS_SUPER_MAGIC: false, 0x2fc12fc1: false,
	} {
		if networkType(magic) != want {
			t.Errorf("%#x: %v", magic, !want)
		}
	}
	if onNetwork("/proc") || onNetwork("/none") {
		t.Error("/proc is no network")
	}
}
